// What htmx does not do by itself: focus, forms that go once, exact copies.
"use strict";

(() => {
  // htmx notes which page is open, for a history that it does not keep here: nothing stays behind.
  const forget = () => sessionStorage.removeItem("htmx-current-path-for-history");
  forget();
  for (const name of ["htmx:pushedIntoHistory", "htmx:replacedInHistory", "htmx:historyRestore"]) {
    document.addEventListener(name, forget);
  }

  document.addEventListener("htmx:afterSettle", (event) => {
    const place = event.detail.target?.id;
    const panel = document.querySelector("#notice .panel") ?? document.querySelector("#main .panel[role=alert]");
    if (panel && ["main", "notice"].includes(place)) {
      panel.focus({ preventScroll: true });
      panel.scrollIntoView({ block: "nearest" });
    } else if (place === "main") {
      (document.getElementById("standing") ?? document.getElementById("main")).focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
  });

  // Forms that go without htmx are sent once; a page brought back by the browser is open again.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-once]")) return;
    const button = event.target.querySelector("button");
    setTimeout(() => { button.disabled = true; });
  });
  window.addEventListener("pageshow", (event) => {
    // A page that the browser kept in memory may belong to somebody who signed out since.
    if (event.persisted) window.location.reload();
    for (const button of document.querySelectorAll("[data-once] button")) button.disabled = false;
  });

  // What is copied is the text itself: what was spelled out for reading goes back to characters.
  document.addEventListener("copy", (event) => {
    const selection = window.getSelection();
    if (!selection.rangeCount) return;
    const range = selection.getRangeAt(0);
    const around = range.commonAncestorContainer;
    const place = around.nodeType === Node.ELEMENT_NODE ? around : around.parentElement;
    if (!place.closest(".exact, .words, .tool")) return;
    const copied = document.createElement("div");
    copied.append(range.cloneContents());
    for (const mark of copied.querySelectorAll(".esc[data-code]")) {
      mark.textContent = String.fromCodePoint(Number(mark.dataset.code)).repeat(Number(mark.dataset.count));
    }
    event.clipboardData.setData("text/plain", copied.textContent);
    event.preventDefault();
  });
})();

// Offers the time zone of the device on the page of one's settings; it is chosen only by saving.
(() => {
  function offer() {
    const place = document.querySelector("[data-zone-offer]");
    if (!place) return;
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const list = document.getElementById("time_zone");
    const isOffered = [...list.options].some((option) => option.value === zone) && list.value !== zone;
    place.querySelector("[data-zone]").textContent = zone;
    place.hidden = !isOffered;
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-take-zone]")) return;
    const list = document.getElementById("time_zone");
    list.value = document.querySelector("[data-zone]").textContent;
    list.focus();
    offer();
  });
  document.addEventListener("change", (event) => {
    if (event.target.id === "time_zone") offer();
  });
  document.addEventListener("htmx:afterSettle", offer);
  document.addEventListener("DOMContentLoaded", offer);
})();
