"use strict";
// Waking this browser (Web Push), and the number on the app's icon. The worker is registered
// where somebody is signed in; nothing of a page is ever kept by it.
(() => {
  const WORKER = "/static/js/sw.js";
  const canPush = "serviceWorker" in navigator && "PushManager" in window && "Notification" in window;
  let counted = 0;

  const isSignedIn = () => document.querySelector('link[rel="manifest"]') !== null;

  const register = () => navigator.serviceWorker.register(WORKER, { scope: "/" });

  function offer() {
    const form = document.querySelector("form[data-push]");
    if (!form || !canPush) return;
    form.querySelector("[data-wake]").hidden = false;
    form.querySelector("[data-push-none]").hidden = true;
  }

  function bytes(base64url) {
    const text = atob(base64url.replace(/-/g, "+").replace(/_/g, "/"));
    return Uint8Array.from(text, (char) => char.charCodeAt(0));
  }

  async function wake(form) {
    const denied = form.querySelector("[data-push-denied]");
    try {
      const isAllowed = (await Notification.requestPermission()) === "granted";
      denied.hidden = isAllowed;
      if (!isAllowed) return;
      await register();
      const { pushManager } = await navigator.serviceWorker.ready;
      const old = await pushManager.getSubscription();
      if (old) await old.unsubscribe();
      const made = await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(form.dataset.push) });
      const told = made.toJSON();
      form.elements.endpoint.value = told.endpoint;
      form.elements.p256dh.value = told.keys.p256dh;
      form.elements.auth.value = told.keys.auth;
      form.requestSubmit();
    } catch {
      denied.hidden = false;
    }
  }

  async function count() {
    if (!("setAppBadge" in navigator) || !matchMedia("(display-mode: standalone)").matches) return;
    if (!isSignedIn()) return void navigator.clearAppBadge();
    if (Date.now() - counted < 5000) return;
    counted = Date.now();
    try {
      const answer = await fetch("/settings/notices/waiting/", { redirect: "error" });
      if (answer.ok) navigator.setAppBadge((await answer.json()).waiting);
    } catch {
      // The number stays as it was until the server is heard again.
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-wake]");
    if (button) wake(button.form);
  });
  document.addEventListener("htmx:afterSettle", () => { offer(); count(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) count(); });
  offer();
  count();
  if (canPush && isSignedIn()) register().catch(() => {});
})();
