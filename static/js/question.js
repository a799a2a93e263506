// The page of one question: its clock, the gate before approving, and answers whose reply is lost.
"use strict";

(() => {
  const STAY_MS = 120;
  const FIELDS = ["reason", "args", "response"];
  const GATED = "button[name=decision][value=approve], button[name=decision][value=edit]";
  const question = () => document.querySelector("[data-question]");
  const notice = () => document.getElementById("notice");
  const say = (name, part, value) => document.body.dataset[name].replace(`{${part}}`, value);

  // Whether something is sent that counts; a look at what an edit would change is no answer.
  function isAnswer(event) {
    const request = event.detail.requestConfig;
    return request?.verb === "post" && !request.path.endsWith("/preview/");
  }

  // ---- The clock. The server said how many seconds are left; a wrong clock here does no harm.

  let clock = null;

  function startClock() {
    const shown = document.querySelector("[data-left-s]");
    if (shown && clock?.shown === shown) return;
    clock = shown && {
      shown,
      left: Number(shown.dataset.leftS),
      ticks: performance.now(),
      wall: Date.now(),
    };
  }

  // A sleeping device stops one of the two clocks; the later one is never too kind.
  function secondsLeft() {
    const passed = Math.max(performance.now() - clock.ticks, Date.now() - clock.wall);
    return clock.left - passed / 1000;
  }

  function span(seconds) {
    let rest = Math.max(0, Math.floor(seconds));
    const units = [["sayD", 86400], ["sayH", 3600], ["sayMin", 60], ["sayS", 1]];
    const parts = units.map(([unit, size]) => {
      const count = Math.floor(rest / size);
      rest -= count * size;
      return [count, unit];
    });
    while (parts.length > 1 && parts[0][0] === 0) parts.shift();
    const told = parts.slice(0, 2).filter(([count]) => count);
    return (told.length ? told : [parts.at(-1)]).map(([count, unit]) => say(unit, "n", count)).join(" ");
  }

  function tick() {
    if (!clock) return;
    const seconds = secondsLeft();
    const told = say("sayLeft", "span", span(seconds));
    for (const shown of document.querySelectorAll("[data-countdown]")) {
      if (shown.textContent !== told) shown.textContent = told;
    }
    if (seconds < -1) {
      clock = null;
      reread();
    }
  }

  // ---- The gate. Approving opens when every line of the call has been on screen, here in memory.

  let gate = null;

  // The lines of what counts: the tool, and the target and arguments as the tree shows them.
  function lines() {
    const found = [];
    for (const part of document.querySelectorAll("[data-whole]")) {
      const inside = part.querySelectorAll(".line, .nothing");
      found.push(...(inside.length ? inside : [part]));
    }
    return found;
  }

  let timer = 0;
  function lookSoon() {
    if (timer || !gate || gate.isOpen) return;
    timer = setTimeout(() => {
      timer = 0;
      look();
    }, STAY_MS);
  }

  function startGate() {
    const shown = question();
    const form = document.getElementById("answer");
    if (!shown || !form?.querySelector(GATED)) {
      gate = null;
      return null;
    }
    if (gate?.form === form) return look();
    const key = `${shown.dataset.question} ${shown.dataset.digest}`;
    const isOpen = gate?.key === key && gate.isOpen;
    gate = { key, form, isOpen, wasShut: false, parts: new Map(), held: null, lines: lines(), text: form.querySelector("[data-gate] [role=status]")?.textContent };
    return look();
  }

  // What of the window shows the page, between a bar that stays on top and the lower edge.
  function view() {
    const bar = document.querySelector("body > header");
    const stays = bar && ["sticky", "fixed"].includes(getComputedStyle(bar).position);
    const seen = window.visualViewport;
    const top = seen ? seen.offsetTop : 0;
    return [Math.max(top, stays ? bar.getBoundingClientRect().bottom : 0), top + (seen ? seen.height : window.innerHeight)];
  }

  // Adds a piece, in parts of the line's height, to those that were on screen.
  function join(pieces, from, to) {
    const rest = pieces.filter(([start, end]) => end < from || start > to);
    const touching = pieces.filter(([start, end]) => end >= from && start <= to);
    rest.push([Math.min(from, ...touching.map(([start]) => start)), Math.max(to, ...touching.map(([, end]) => end))]);
    return rest;
  }

  function isSeen(line) {
    const pieces = gate.parts.get(line);
    return Boolean(pieces && pieces.length === 1 && pieces[0][0] <= 0.02 && pieces[0][1] >= 0.98);
  }

  // What of the lines not yet seen is on screen now: of each, from where to where.
  function onScreen() {
    const [top, bottom] = view();
    const exact = document.querySelector("[data-toggle][open] [data-instead]");
    const found = new Map();
    for (const line of exact ? [exact] : gate.lines) {
      if (isSeen(line)) continue;
      const box = line.getBoundingClientRect();
      if (!box.height || box.bottom <= top || box.top >= bottom) continue;
      found.set(line, [Math.max(0, (top - box.top) / box.height), Math.min(1, (bottom - box.top) / box.height)]);
    }
    return found;
  }

  // What only flew past is not seen: a piece counts when it is there at one look and at the next.
  function look() {
    if (!gate || !gate.form.isConnected) return;
    if (!gate.isOpen && document.visibilityState === "visible") {
      const found = onScreen();
      for (const [line, [from, to]] of found) {
        const [was, till] = gate.held ? gate.held.get(line) ?? [1, 0] : [from, to];
        const [start, end] = [Math.max(from, was), Math.min(to, till)];
        if (start < end) gate.parts.set(line, join(gate.parts.get(line) ?? [], start, end));
      }
      gate.held = found;
      const exact = document.querySelector("[data-toggle][open] [data-instead]");
      gate.isOpen = exact ? isSeen(exact) : gate.lines.every(isSeen);
      if (!gate.isOpen && [...found.keys()].some((line) => !isSeen(line))) lookSoon();
    }
    show();
  }

  function show() {
    const told = gate.form.querySelector("[data-gate]");
    for (const button of document.querySelectorAll(`#answer :is(${GATED})`)) {
      if (gate.isOpen && !("blocked" in button.dataset)) button.removeAttribute("aria-disabled");
      else button.setAttribute("aria-disabled", "true");
      if (told && !gate.isOpen && !button.hasAttribute("aria-describedby")) button.setAttribute("aria-describedby", told.id);
    }
    if (!told) return;
    gate.wasShut ||= !gate.isOpen;
    told.hidden = !gate.wasShut;
    told.classList.toggle("done", gate.isOpen);
    const words = told.querySelector("[role=status]");
    const text = gate.isOpen ? told.dataset.done : gate.text;
    if (words.textContent !== text) words.textContent = text;
    told.querySelector("[data-unseen]").hidden = gate.isOpen;
  }

  function leadToUnseen() {
    const exact = document.querySelector("[data-toggle][open]");
    if (exact) exact.open = false;
    const line = gate.lines.find((one) => !isSeen(one));
    if (!line) return;
    const seen = gate.parts.get(line)?.find(([start]) => start <= 0.02)?.[1] ?? 0;
    line.setAttribute("tabindex", "-1");
    line.focus({ preventScroll: true });
    const box = line.getBoundingClientRect();
    window.scrollBy(0, box.top + seen * box.height - view()[0] - 16);
  }

  function isShut(button) {
    if (!gate || gate.isOpen || !button?.matches?.(GATED) || !gate.form.contains(button)) return false;
    return true;
  }

  document.addEventListener("submit", (event) => {
    if (!isShut(event.submitter)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // A shut button says why, and where the rest is.
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button");
    if (button && isShut(button)) {
      event.preventDefault();
      event.stopImmediatePropagation();
      gate.form.querySelector("[data-unseen]")?.focus();
    } else if (button?.matches("[data-unseen]") && gate) {
      leadToUnseen();
    }
  }, true);

  for (const name of ["scroll", "toggle", "focusin", "visibilitychange"]) {
    document.addEventListener(name, lookSoon, { capture: true, passive: true });
  }
  window.addEventListener("resize", lookSoon);
  window.visualViewport?.addEventListener("scroll", lookSoon);
  window.visualViewport?.addEventListener("resize", lookSoon);
  const sizes = new ResizeObserver(lookSoon);

  document.addEventListener("placet:offer", () => { if (gate) show(); });

  // ---- Rejecting needs a reason: without one nothing is sent, and the field says what to do.

  function setRejecting(isRejecting) {
    const reason = document.querySelector("#answer [name=reason]");
    const hint = document.getElementById("reason-hint");
    document.querySelector("[data-bar]").toggleAttribute("data-rejecting", isRejecting);
    hint.textContent = isRejecting ? hint.dataset.says : "";
    if (isRejecting) reason.setAttribute("aria-invalid", "true");
    else reason.removeAttribute("aria-invalid");
  }

  document.addEventListener("submit", (event) => {
    const reason = document.querySelector("#answer [name=reason]");
    if (event.submitter?.name !== "decision" || event.submitter.value !== "reject" || !reason || reason.value.trim()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    setRejecting(true);
    reason.focus({ preventScroll: true });
    reason.scrollIntoView({ block: "center" });
  }, true);

  document.addEventListener("input", (event) => {
    if (event.target.matches("#answer [name=reason]") && event.target.value.trim()) event.target.removeAttribute("aria-invalid");
  });

  // Who leaves the reason empty has turned to something else.
  document.addEventListener("focusout", (event) => {
    const isLeft = event.target.matches?.("#answer [name=reason]") && !event.target.value.trim();
    if (isLeft && event.relatedTarget?.value !== "reject" && document.hasFocus() && event.target.isConnected) setRejecting(false);
  });

  // ---- Keys. Enter in a field never answers; one key shows the exact text instead of the tree.

  document.addEventListener("keydown", (event) => {
    const place = event.target;
    const isField = place.matches?.("input, select, textarea, [contenteditable]");
    if (event.key === "Enter" && place.matches?.("#answer input, #answer select")) event.preventDefault();
    if (isField || event.ctrlKey || event.metaKey || event.altKey) return;
    const part = document.querySelector(`[data-toggle="${CSS.escape(event.key)}"]`);
    if (!part) return;
    event.preventDefault();
    part.open = !part.open;
  });

  // ---- Answers: a panel of the last one goes with the next; a lost reply is looked up.

  function tell(id) {
    notice().replaceChildren(document.getElementById(id).content.cloneNode(true));
    const panel = notice().querySelector(".panel");
    panel?.focus({ preventScroll: true });
    notice().scrollIntoView({ block: "start" });
  }

  // Reads the open question again; what was typed comes back only into the form of the same
  // content, for the same person.
  function readAgain() {
    const shown = question();
    if (!shown || !window.htmx) return Promise.resolve(false);
    const same = () => `${question()?.dataset.question} ${question()?.dataset.digest} ${question()?.dataset.who}`;
    const before = same();
    const kept = FIELDS.map((name) => [name, document.querySelector(`#answer [name=${name}]`)?.value]);
    let isRead = false;
    const read = (event) => { isRead ||= event.detail.target?.id === "main" && event.detail.successful; };
    document.addEventListener("htmx:afterRequest", read);
    return window.htmx.ajax("GET", shown.dataset.page, { target: "#main", swap: "innerHTML" }).catch(() => {}).then(() => {
      document.removeEventListener("htmx:afterRequest", read);
      if (isRead && before === same()) {
        for (const [name, value] of kept) {
          const field = document.querySelector(`#answer [name=${name}]`);
          if (field && value !== undefined && field.value !== value) {
            field.value = value;
            field.closest("details")?.setAttribute("open", "");
            field.dispatchEvent(new Event("input", { bubbles: true }));
          }
        }
      }
      return isRead;
    });
  }

  // One after the other: htmx says at once of a reading that has to queue that it is done.
  let reading = Promise.resolve(false);
  function reread() {
    reading = reading.then(readAgain, readAgain);
    return reading;
  }

  let isLookingUp = false;
  async function lookUp(id) {
    if (isLookingUp) return;
    isLookingUp = true;
    tell(id);
    const isRead = await reread();
    isLookingUp = false;
    if (isRead) tellRecorded();
    else notice().querySelector("[data-again]")?.removeAttribute("hidden");
  }

  function tellRecorded() {
    const panel = notice().querySelector(".panel");
    const words = document.querySelector("[data-recorded]")?.content.textContent;
    const told = panel?.querySelector("[data-reread]");
    if (!told || !words) return;
    told.textContent = words;
    panel.querySelector("[data-unknown]")?.remove();
    panel.querySelector("[data-again]")?.setAttribute("hidden", "");
    panel.focus({ preventScroll: true });
  }

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!isAnswer(event)) return;
    notice().replaceChildren();
    document.querySelector("#answer .panel[role=alert]")?.remove();
  });

  for (const [name, id] of [["htmx:sendError", "lost"], ["htmx:timeout", "lost"], ["htmx:responseError", "failed"]]) {
    document.addEventListener(name, (event) => {
      if (isAnswer(event) && question()) lookUp(id);
      else if (isAnswer(event)) tell(id);
    });
  }

  // An ended session is told here, beside what was typed; signing in goes on in another tab.
  document.addEventListener("htmx:beforeOnLoad", (event) => {
    const shown = question();
    const way = event.detail.xhr.getResponseHeader("HX-Redirect");
    if (!shown || !way || event.detail.boosted || !new URL(way, location.href).pathname.startsWith("/login/")) return;
    event.preventDefault();
    tell("signed-out");
    const link = notice().querySelector("a");
    link.href = `${way}?next=${encodeURIComponent(shown.dataset.page)}`;
    notice().dataset.signedOut = "";
  });

  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible" || !("signedOut" in notice().dataset)) return;
    reread().then((isRead) => {
      if (!isRead || notice().querySelector("[data-notice=unauthenticated]") === null) return;
      tellRecorded();
      notice().querySelector("a")?.remove();
      delete notice().dataset.signedOut;
    });
  });

  // ---- A handoff that is being checked: when the stream tells of a change, read the page again.

  let stream = null;
  let heard = "";

  function awaitCheck() {
    const isAwaited = document.querySelector("[data-awaited]") !== null;
    if (!isAwaited || !("EventSource" in window)) {
      stream?.close();
      stream = null;
      return;
    }
    if (stream) return;
    heard = "";
    stream = new EventSource("/inbox/live/");
    stream.addEventListener("inbox", (event) => {
      const before = heard;
      heard = event.data;
      if (before !== heard) reread().then(tellChecked);
    });
    stream.addEventListener("ended", () => stream?.close());
  }

  // What came of the check is said where reading goes on.
  function tellChecked() {
    if (document.querySelector("[data-awaited]")) return;
    const told = document.querySelector(".unlike, .standing");
    told?.setAttribute("tabindex", "-1");
    told?.focus({ preventScroll: true });
    told?.scrollIntoView({ block: "nearest" });
  }

  // The way from the bar to a part that is folded unfolds it.
  document.addEventListener("click", (event) => {
    const way = event.target.closest?.("[data-open]");
    const part = way && document.getElementById(way.dataset.open);
    if (!part) return;
    event.preventDefault();
    part.open = true;
    part.querySelector("summary").focus({ preventScroll: true });
    part.scrollIntoView({ block: "start" });
  });

  // In capture, before htmx follows the link that stands there for browsers without it.
  document.addEventListener("click", (event) => {
    const again = event.target.closest?.("[data-again]");
    if (!again || !question()) return;
    event.preventDefault();
    event.stopPropagation();
    reread().then((isRead) => {
      if (!isRead) return;
      if (notice().querySelector("[data-reread]")) tellRecorded();
      else notice().replaceChildren();
    });
  }, true);

  function start() {
    startClock();
    startGate();
    awaitCheck();
    sizes.disconnect();
    sizes.observe(document.getElementById("main"));
  }

  setInterval(tick, 1000);
  document.addEventListener("htmx:afterSettle", start);
  document.addEventListener("htmx:historyRestore", start);
  document.addEventListener("DOMContentLoaded", start);
})();
