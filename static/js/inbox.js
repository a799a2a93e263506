// The inbox while one looks at it: new rows wait under a button, ended ones are marked in place,
// nothing moves. And the keys that lead from row to row. No key and no event decides anything.
"use strict";

(() => {
  const page = () => document.querySelector("[data-inbox]");
  const LIVE = "/inbox/live/";
  const CHANGES = "/inbox/changes/";
  let source = null;
  let letGo = null;
  let asking = false;
  let heard = "";
  let since = performance.now();
  let back = "/";
  let seen = new Set();

  // ---- Live -------------------------------------------------------------------------------

  // Of several open tabs one has the stream and tells the others: browsers allow few connections.
  const others = "BroadcastChannel" in window ? new BroadcastChannel("placet-inbox") : null;
  others?.addEventListener("message", (event) => (event.data ? hear(String(event.data)) : isLive(false)));

  function listen() {
    if (source || letGo || !page() || !("EventSource" in window)) return;
    if (!navigator.locks) {
      open();
      return;
    }
    const waiting = new AbortController();
    letGo = () => waiting.abort();
    navigator.locks.request("placet-inbox", { signal: waiting.signal }, () => new Promise((done) => {
      letGo = done;
      if (page()) open();
      else done();
    })).catch(() => {});
    isLive(true);
  }

  function open() {
    source = new EventSource(LIVE);
    source.addEventListener("open", () => isLive(true));
    source.addEventListener("inbox", (event) => {
      others?.postMessage(event.data);
      hear(event.data);
    });
    source.addEventListener("ended", () => {
      close();
      look();
    });
    source.addEventListener("error", () => {
      isLive(false);
      others?.postMessage("");
      if (source?.readyState === EventSource.CLOSED) {
        close();
        look();
      }
    });
  }

  function close() {
    source?.close();
    source = null;
    letGo?.();
    letGo = null;
  }

  function isLive(yes) {
    const shown = page()?.querySelector("[data-live]");
    if (!shown) return;
    shown.hidden = false;
    shown.querySelector("[data-live-on]").hidden = !yes;
    shown.querySelector("[data-live-off]").hidden = yes;
  }

  function hear(data) {
    const inbox = page();
    if (!inbox) return;
    isLive(true);
    const told = JSON.parse(data);
    badge(told.waiting);
    if (told.state !== (heard || inbox.dataset.state)) look();
  }

  function badge(count) {
    if (count) navigator.setAppBadge?.(count).catch(() => {});
    else navigator.clearAppBadge?.().catch(() => {});
  }

  // Asks what became of the rows shown; an ended session answers with the way to the sign-in page.
  async function look() {
    const inbox = page();
    if (!inbox || asking) return;
    asking = true;
    try {
      const asked = new URLSearchParams(inbox.dataset.query);
      asked.set("shown", [...new Set([...inbox.querySelectorAll("[data-row]")].map((row) => row.dataset.row))].slice(0, 150).join(","));
      asked.set("at", inbox.dataset.at);
      const answer = await fetch(`${CHANGES}?${asked}`, { headers: { "HX-Request": "true" } });
      const away = answer.headers.get("HX-Redirect");
      if (away) window.location.assign(away);
      else if (answer.ok && page() === inbox) tell(inbox, await answer.json());
    } catch {
      isLive(false);
    } finally {
      asking = false;
    }
  }

  function tell(inbox, told) {
    heard = told.state;
    document.title = told.title;
    badge(told.waiting);
    for (const [id, words] of Object.entries(told.ended)) {
      for (const row of inbox.querySelectorAll(`[data-row="${CSS.escape(id)}"]`)) end(row, words);
    }
    const button = inbox.querySelector("[data-new]");
    button.hidden = !told.new;
    button.textContent = told.new ? told.new_words : "";
  }

  // In place: the row keeps its height, its link leads to how the question ended.
  function end(row, words) {
    row.style.minHeight = `${row.getBoundingClientRect().height}px`;
    const left = row.querySelector(":scope > .left, :scope > .quiet > .left");
    const said = document.createElement("span");
    said.className = "ended-words";
    said.textContent = words;
    left.replaceChildren(said);
    const open = row.querySelector(".alike li:not(.ended)");
    if (!open) row.classList.add("ended");
    const group = row.closest(".alike")?.closest(".row");
    if (group && !group.querySelector(".alike li:not(.ended)")) group.classList.add("ended");
  }

  function load() {
    const inbox = page();
    if (!inbox || !window.htmx) return;
    seen = new Set([...inbox.querySelectorAll("[data-row]")].map((row) => row.dataset.row));
    const query = inbox.dataset.query;
    window.htmx.ajax("GET", query ? `/?${query}` : "/", { target: "#main", swap: "innerHTML" });
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("[data-new]")) load();
    for (const facet of document.querySelectorAll(".facets details[open]")) {
      if (!facet.contains(event.target)) facet.open = false;
    }
  });

  // ---- The clock of each row, by the server's --------------------------------------------

  function count() {
    const inbox = page();
    if (!inbox || document.hidden) return;
    const gone = (performance.now() - since) / 1000;
    for (const shown of inbox.querySelectorAll("[data-row-left]")) {
      const seconds = Number(shown.dataset.rowLeft) - gone;
      const words = seconds > 0 ? say("left", "span", span(seconds)) : inbox.dataset.over;
      if (shown.textContent !== words) shown.textContent = words;
      if (seconds < 3600) shown.closest(".row").classList.add("urgent");
    }
    for (const shown of inbox.querySelectorAll("[data-row-since]")) {
      const words = inbox.dataset.asked.replace("{span}", span(Number(shown.dataset.rowSince) + gone, 1));
      if (shown.textContent !== words) shown.textContent = words;
    }
  }

  // Words come with the page, in the reader's language.
  function say(name, part, value) {
    return document.body.dataset[`say${name[0].toUpperCase()}${name.slice(1)}`].replace(`{${part}}`, value);
  }

  function span(seconds, units = 2) {
    let rest = Math.max(0, Math.floor(seconds));
    const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]].map(([unit, size]) => {
      const n = Math.floor(rest / size);
      rest -= n * size;
      return [n, unit];
    });
    while (parts.length > 1 && parts[0][0] === 0) parts.shift();
    return parts.slice(0, units).filter(([n]) => n).map(([n, unit]) => say(unit, "n", n)).join(" ") || say("s", "n", 0);
  }

  setInterval(count, 1000);

  // ---- Keys ---------------------------------------------------------------------------------

  const rows = () => [...document.querySelectorAll(".rows .row .to")];
  let before = "";

  function step(by) {
    const all = rows();
    if (!all.length) return;
    const at = all.findIndex((link) => link.closest(".row").contains(document.activeElement));
    const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + by));
    all[next].focus();
    all[next].closest(".row").scrollIntoView({ block: "nearest" });
  }

  function go(path) {
    const link = [...document.querySelectorAll(".bar a")].find((one) => one.getAttribute("href") === path);
    if (link) link.click();
    else window.location.assign(path);
  }

  const KEYS = {
    j: () => step(1),
    k: () => step(-1),
    o: () => document.activeElement?.closest?.(".row")?.querySelector(".to")?.click(),
    u: () => { if (!page()) window.location.assign(back); },
    n: () => { if (page()?.querySelector("[data-new]")?.hidden === false) load(); },
    "?": () => document.getElementById("keys")?.showModal(),
  };
  const GO = { i: "/", r: "/runs/" };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.defaultPrevented) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable], dialog")) return;
    const first = before;
    before = event.key === "g" ? "g" : "";
    if (event.key === "Escape") {
      for (const facet of document.querySelectorAll(".facets details[open]")) {
        facet.open = false;
        facet.querySelector("summary").focus();
      }
    } else if (first === "g" && GO[event.key]) go(GO[event.key]);
    else if (Object.hasOwn(KEYS, event.key)) KEYS[event.key]();
    else return;
    event.preventDefault();
  });

  // ---- Coming and going ---------------------------------------------------------------------

  function arrive() {
    const inbox = page();
    if (!inbox) {
      close();
      return;
    }
    since = performance.now();
    heard = "";
    back = window.location.pathname + window.location.search;
    document.title = inbox.dataset.title;
    badge(Number(inbox.dataset.waiting));
    if (seen.size) {
      const fresh = [...inbox.querySelectorAll(".row[data-row]")].filter((row) => !seen.has(row.dataset.row));
      for (const row of fresh) row.classList.add("new");
      fresh[0]?.querySelector(".to").focus({ preventScroll: true });
      seen = new Set();
    }
    listen();
    isLive(Boolean(source || letGo));
  }

  document.addEventListener("DOMContentLoaded", arrive);
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target?.id === "main" || event.detail.target === document.body) arrive();
  });
  // Back and forward: htmx reads the page anew and settles nothing; a browser may bring one back.
  document.addEventListener("htmx:historyRestore", arrive);
  window.addEventListener("pageshow", (event) => { if (event.persisted) arrive(); });
  window.addEventListener("pagehide", close);
})();
