// What htmx does not do by itself: focus, the deadline, lost connections, exact copies.
"use strict";

(() => {
  const byId = (id) => document.getElementById(id);
  const FIELDS = ["reason", "args", "response"];
  let deadline = 0;

  // Words come with the page, in the reader's language.
  function say(name, part, value) {
    return document.body.dataset[`say${name[0].toUpperCase()}${name.slice(1)}`].replace(`{${part}}`, value);
  }

  function span(seconds) {
    const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
    let rest = Math.max(0, Math.floor(seconds));
    const parts = units.map(([unit, size]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return [count, unit];
    });
    while (parts.length > 1 && parts[0][0] === 0) parts.shift();
    return parts.slice(0, 2).filter(([count]) => count).map(([count, unit]) => say(unit, "n", count)).join(" ") || say("s", "n", 0);
  }

  // The server said how many seconds are left, so a wrong clock here does no harm.
  function startClock() {
    const question = document.querySelector("[data-left-s]");
    deadline = question ? performance.now() + Number(question.dataset.leftS) * 1000 : 0;
  }

  setInterval(() => {
    if (!deadline) return;
    const seconds = (deadline - performance.now()) / 1000;
    for (const shown of document.querySelectorAll("[data-countdown]")) shown.textContent = say("left", "span", span(seconds));
    if (seconds < -1) {
      deadline = 0;
      reread("");
    }
  }, 1000);

  // Reads the open question again; what was typed comes back only into the form of the same content.
  function reread(notice) {
    const question = document.querySelector("[data-page]");
    if (!question || !window.htmx) return Promise.resolve();
    const digest = document.querySelector("[name=asked_sha256]");
    const kept = Object.fromEntries(FIELDS.map((name) => [name, document.querySelector(`#answer [name=${name}]`)?.value]));
    return window.htmx.ajax("GET", question.dataset.page, { target: "#main", swap: "innerHTML" }).then(() => {
      const now = document.querySelector("[name=asked_sha256]");
      if (digest && now && digest.value === now.value) {
        for (const name of FIELDS) {
          const field = document.querySelector(`#answer [name=${name}]`);
          if (field && kept[name] !== undefined) field.value = kept[name];
        }
      }
      const told = document.querySelector("#notice [data-reread]");
      if (notice && told) told.textContent = document.body.dataset.sayReread;
    });
  }

  function tell(id) {
    byId("notice").replaceChildren(byId(id).content.cloneNode(true));
    byId("notice").scrollIntoView({ block: "nearest" });
  }

  function isAnswer(event) {
    const request = event.detail.requestConfig;
    return request?.verb === "post" && !request.path.endsWith("/preview/");
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isAnswer(event)) byId("notice").replaceChildren();
  });

  for (const name of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(name, (event) => {
      if (!isAnswer(event)) return;
      tell("lost");
      reread("lost");
    });
  }

  document.addEventListener("htmx:responseError", (event) => {
    if (!isAnswer(event)) return;
    tell("failed");
    reread("failed");
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    startClock();
    const panel = document.querySelector("#main .panel[role=alert], #notice .panel");
    if (event.detail.target?.id === "main" && panel) {
      panel.focus({ preventScroll: true });
      panel.scrollIntoView({ block: "nearest" });
    } else if (event.detail.target?.id === "main") {
      byId("main").focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }
  });

  // Forms that go without htmx are sent once; a page brought back by the browser is open again.
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-once]")) return;
    const button = event.target.querySelector("button");
    setTimeout(() => { button.disabled = true; });
  });
  window.addEventListener("pageshow", () => {
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

  document.addEventListener("DOMContentLoaded", startClock);
})();
