"use strict";
// Shows what the server pushes and opens the page it is about. It keeps nothing: no page, no
// message, no answer, and it stands between no page and the server.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

function own(path) {
  const url = new URL(typeof path === "string" ? path : "/", self.location.origin);
  return url.origin === self.location.origin ? url.href : `${self.location.origin}/`;
}

async function show(message) {
  await self.registration.showNotification(message.title, {
    body: message.body,
    tag: message.tag,
    renotify: true,
    icon: "/static/icons/icon-192.png",
    data: { url: own(message.path) },
  });
  if ("setAppBadge" in self.navigator && Number.isInteger(message.waiting)) {
    await self.navigator.setAppBadge(message.waiting);
  }
}

async function open(url) {
  const windows = await self.clients.matchAll({ type: "window" });
  const there = windows.find((client) => client.url === url);
  // A page that somebody may be typing in is left alone.
  return there ? there.focus() : self.clients.openWindow(url);
}

self.addEventListener("push", (event) => {
  if (event.data) event.waitUntil(show(event.data.json()));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.data.url));
});
