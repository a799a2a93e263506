// The form over the JSON of the arguments. That text is all that is sent: a field replaces the
// characters of its own place in it, so whatever nobody touched keeps every byte and every type.
"use strict";

(() => {
  const DEPTH_MAX = 64;
  const SPACE = /[ \t\n\r]*/y;
  const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
  const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
  const WORD = /true|false|null/y;
  const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

  // A JSON text as nodes that know where they stand: {kind, start, end, parts}, each part with
  // its name or index as `key`, and `from` where its name begins. Null where it is not JSON.
  function read(text) {
    let at = 0;
    const match = (form) => {
      form.lastIndex = at;
      const found = form.exec(text);
      if (found) at = form.lastIndex;
      return found ? found[0] : null;
    };
    const space = () => match(SPACE);
    const take = (char) => text[at] === char && ++at > 0;

    function inside(node, close, part) {
      const seen = new Set();
      at += 1;
      space();
      if (take(close)) return node;
      for (;;) {
        space();
        const found = part(node.parts.length);
        if (!found || seen.has(found.key)) return null;
        seen.add(found.key);
        node.parts.push(found);
        space();
        if (take(close)) return node;
        if (!take(",")) return null;
      }
    }

    function value(depth) {
      const start = at;
      const done = (kind, parts = []) => ({ kind, start, end: at, parts });
      if (depth > DEPTH_MAX) return null;
      let node = null;
      if (text[at] === "{") {
        node = inside(done("object"), "}", () => {
          const from = at;
          const name = match(STRING);
          space();
          if (name === null || !take(":")) return null;
          space();
          const found = value(depth + 1);
          return found && { ...found, key: JSON.parse(name), from };
        });
      } else if (text[at] === "[") {
        node = inside(done("list"), "]", (index) => {
          const from = at;
          const found = value(depth + 1);
          return found && { ...found, key: String(index), from };
        });
      } else if (match(STRING) !== null) return done("text");
      else if (match(NUMBER) !== null) return done("number");
      else if (match(WORD) !== null) return done("word");
      return node && { ...node, end: at };
    }

    space();
    const root = value(1);
    space();
    return root && at === text.length ? root : null;
  }

  function keys(pointer) {
    return pointer.split("/").slice(1).map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  }

  function find(root, path) {
    return path.reduce((node, key) => node?.parts.find((part) => part.key === key), root);
  }

  const replaced = (text, node, json) => text.slice(0, node.start) + json + text.slice(node.end);

  function without(text, holder, part) {
    const index = holder.parts.indexOf(part);
    const [before, after] = [holder.parts[index - 1], holder.parts[index + 1]];
    const from = after || !before ? part.from : before.end;
    return text.slice(0, after || before ? from : holder.start + 1) + text.slice(after ? after.from : before ? part.end : holder.end - 1);
  }

  // A new part goes last, in the manner in which the others stand.
  function extended(text, holder, name, json) {
    const part = name === null ? json : `${quoted(name)}: ${json}`;
    const last = holder.parts.at(-1);
    if (!last) return text.slice(0, holder.start + 1) + part + text.slice(holder.end - 1);
    const lead = /\n[ \t]*$/.exec(text.slice(holder.start, last.from));
    return text.slice(0, last.end) + (lead ? `,${lead[0]}` : ", ") + part + text.slice(last.end);
  }

  function swapped(text, first, second) {
    return text.slice(0, first.start) + text.slice(second.start, second.end) + text.slice(first.end, second.start) + text.slice(first.start, first.end) + text.slice(second.end);
  }

  function quoted(text) {
    const units = (char) => Array.from({ length: char.length }, (_, n) => `\\u${char.charCodeAt(n).toString(16).padStart(4, "0")}`).join("");
    return JSON.stringify(text).replace(UNSEEN, units);
  }

  function same(a, aText, b, bText) {
    if (!a || !b || a.kind !== b.kind) return !a && !b;
    const [one, other] = [aText.slice(a.start, a.end), bText.slice(b.start, b.end)];
    if (a.kind === "word") return one === other;
    if (a.kind === "number") return Number(one) === Number(other);
    if (a.kind === "text") return JSON.parse(one) === JSON.parse(other);
    return a.parts.length === b.parts.length && a.parts.every((part) => same(part, aText, b.parts.find((twin) => twin.key === part.key), bText));
  }

  const byId = (id) => document.getElementById(id);
  const source = () => byId("args");
  const pathOf = (member) => keys(decodeURIComponent(member.dataset.at));
  const members = () => [...byId("fields").querySelectorAll("[data-at]")];
  const own = (member, selector) => member.querySelector(`:scope > ${selector}`);
  let wanted = null; // where the focus goes once the form has been drawn again
  let previewed = null; // the text whose changes are on the page
  const begun = new WeakMap(); // of a member, the JSON that it had when its editing began
  const unfinished = () => byId("fields").querySelector("[data-unfinished] > .box");

  function show(mode) {
    const edit = byId("edit");
    edit.dataset.mode = mode;
    for (const radio of edit.querySelectorAll("[name=edit-as]")) radio.checked = radio.value === mode;
  }

  // While the form is drawn again its places may be others than those in the text.
  function redraw() {
    byId("fields").inert = true;
    window.htmx.trigger(byId("fields"), "redraw");
  }

  // Whether the changes on the page are those of the text as it is now.
  function compare() {
    byId("edit").toggleAttribute("data-current", previewed === source().value);
    offer();
  }

  function isChanged() {
    const [askedText, text] = [byId("edit").dataset.asked, source().value];
    if (unfinished()) return true;
    const now = text === askedText || read(text);
    return now !== true && (!now || !same(read(askedText), askedText, now, text));
  }

  // The bar offers what fits: Approve for what was asked, Edit once anything else stands there.
  function offer() {
    const [edit, approve] = ["[value=edit]", "[value=approve]"].map((one) => document.querySelector(`[data-bar] ${one}`));
    const changed = isChanged();
    const isCurrent = previewed === source().value;
    const isFaulty = Boolean(unfinished() || (isCurrent && byId("changes").querySelector("[data-code]")));
    const rows = [...byId("changes").querySelectorAll(".changes > li")];
    const [was, now] = ["del", "ins"].map((tag) => rows[0]?.querySelector(tag)?.textContent);
    const isOne = isCurrent && rows.length === 1 && was !== undefined && now !== undefined && was.length + now.length <= 80;
    const form = isFaulty ? "faulty" : isOne ? "one" : "many";
    byId("edited").hidden = !changed;
    for (const line of byId("edit-sum").children) line.hidden = line.dataset.when !== form;
    if (form === "one") {
      const line = byId("edit-sum").querySelector("[data-when=one]");
      line.querySelector("[data-place]").textContent = rows[0].querySelector(".name").textContent;
      line.querySelector("del").textContent = was;
      line.querySelector("ins").textContent = now;
    }
    edit.hidden = !changed;
    edit.classList.toggle("primary", !isFaulty);
    edit.toggleAttribute("data-blocked", Boolean(unfinished()));
    approve?.classList.toggle("primary", !changed);
    approve?.toggleAttribute("data-blocked", changed);
    if (changed) approve?.setAttribute("aria-describedby", "no-approve");
    else if (approve?.getAttribute("aria-describedby") === "no-approve") approve.removeAttribute("aria-describedby");
    document.dispatchEvent(new Event("placet:offer"));
  }

  // A field that is half typed has no changes to show: the page says so in their place.
  function tellUnfinished() {
    const member = unfinished()?.closest("[data-at]");
    if (!member) return;
    previewed = null;
    window.htmx.trigger(source(), "htmx:abort");
    const panel = byId("preview-unfinished").content.cloneNode(true);
    panel.querySelector("[data-name]").textContent = byId(`name:${member.dataset.at}`).textContent;
    panel.querySelector("[data-why]").textContent = own(member, ".fault").textContent;
    byId("changes").replaceChildren(panel);
    byId("look-first").textContent = "";
  }

  // The JSON of a member, kept while it is edited: nothing half typed may stay in the text.
  function begin(member) {
    const node = find(read(source().value), pathOf(member));
    if (node) begun.set(member, source().value.slice(node.start, node.end));
  }

  function setText(text) {
    source().value = text;
    source().dispatchEvent(new Event("input", { bubbles: true }));
    mark();
  }

  function setStructure(text, focus) {
    source().value = text;
    wanted = focus;
    compare();
    redraw();
  }

  // The JSON of what a box holds; null where it is not finished.
  function typed(member, box) {
    const value = box.value;
    switch (member.dataset.kind) {
      case "text": return quoted("crlf" in member.dataset ? value.replaceAll("\n", "\r\n") : value);
      case "number": {
        NUMBER.lastIndex = 0;
        return NUMBER.exec(value.trim())?.[0] === value.trim() ? value.trim() : null;
      }
      case "json": return read(value) && value.trim();
      default: return value;
    }
  }

  function write(member, box) {
    if (!begun.has(member)) begin(member);
    const json = typed(member, box);
    const text = source().value;
    const wasUnfinished = Boolean(unfinished());
    const node = find(read(text), pathOf(member));
    member.toggleAttribute("data-unfinished", json === null);
    if (json === null) {
      const says = byId("fields").querySelector("[data-asked]").dataset;
      blame(member, member.dataset.kind === "number" ? says.noNumber : says.noJson);
      if (node) source().value = replaced(text, node, begun.get(member));
      tellUnfinished();
      compare();
      mark();
    } else if (node) {
      blame(member, "");
      setText(replaced(text, node, json));
      tellUnfinished();
      if (wasUnfinished && !unfinished()) window.htmx.trigger(source(), "look");
    }
  }

  function blame(member, message) {
    const fault = own(member, ".fault");
    fault.textContent = message;
    fault.hidden = !message;
    for (const box of member.querySelectorAll(":scope > .box")) {
      if (message) box.setAttribute("aria-invalid", "true");
      else box.removeAttribute("aria-invalid");
    }
  }

  // Faults that the server found go to their places, or to the nearest place around them.
  function place() {
    const places = new Map(members().map((member) => [member.dataset.at, member]));
    for (const member of places.values()) if (!member.hasAttribute("data-unfinished")) blame(member, "");
    for (const line of byId("changes").querySelectorAll("[data-fault]")) {
      let at = line.dataset.fault.replace(/^\/args/, "");
      while (at && !places.has(at)) at = at.slice(0, at.lastIndexOf("/"));
      const member = places.get(at);
      if (member && !member.hasAttribute("data-unfinished")) {
        const before = own(member, ".fault").textContent;
        blame(member, [before, line.querySelector("[data-message]").textContent].filter(Boolean).join(" "));
      }
    }
  }

  // What was asked, beside every place that is different now.
  function mark() {
    const form = byId("fields").querySelector("[data-asked]");
    if (!form) return;
    const [askedText, text] = [form.dataset.asked, source().value];
    const [asked, now] = [read(askedText), read(text)];
    for (const member of members()) {
      const path = pathOf(member);
      const [was, is] = [find(asked, path), find(now, path)];
      const isInside = was && is && was.kind === is.kind && (was.kind === "object" || (was.kind === "list" && was.parts.length === is.parts.length));
      const isOther = member.hasAttribute("data-unfinished") || (isComparable(asked, now, path) && !isInside && !same(was, askedText, is, text));
      member.classList.toggle("is-changed", isOther);
      own(member, ".was").hidden = !isOther;
      own(member, ".was").querySelector("code").textContent = was ? askedText.slice(was.start, was.end) : form.dataset.notGiven;
    }
  }

  // Once a list has more or fewer items, only the list as a whole can be compared.
  function isComparable(asked, now, path) {
    return path.every((_, cut) => {
      const [was, is] = [find(asked, path.slice(0, cut)), find(now, path.slice(0, cut))];
      return was && is && was.kind === is.kind && (was.kind !== "list" || was.parts.length === is.parts.length);
    });
  }

  const at = (path) => path.map((key) => `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");

  function act(button) {
    const member = button.closest("[data-at]");
    const half = unfinished();
    if (half && !member.contains(half)) return half.focus();
    const path = pathOf(member);
    const text = source().value;
    const root = read(text);
    const [holder, node] = [find(root, path.slice(0, -1)), find(root, path)];
    const [key, index] = [path.at(-1), Number(path.at(-1))];
    const besides = (step) => [...path.slice(0, -1), String(index + step)];
    const focus = (to, what) => ({ pointer: at(to), what });
    switch (button.dataset.do) {
      case "add":
        return setStructure(extended(text, holder, key, member.dataset.blank), focus(path, "box"));
      case "append":
        return setStructure(extended(text, node, null, member.dataset.blank), focus([...path, String(node.parts.length)], "box"));
      case "remove":
        return setStructure(without(text, holder, node), focus(path, holder.kind === "list" ? "remove" : "undo"));
      case "up":
        return setStructure(swapped(text, find(root, besides(-1)), node), focus(besides(-1), "up"));
      case "down":
        return setStructure(swapped(text, node, find(root, besides(1))), focus(besides(1), "down"));
      case "undo": {
        const askedText = byId("fields").querySelector("[data-asked]").dataset.asked;
        const was = find(read(askedText), path);
        const json = was && askedText.slice(was.start, was.end);
        if (!was) return setStructure(without(text, holder, node), focus(path, "add"));
        return setStructure(node ? replaced(text, node, json) : extended(text, holder, key, json), focus(path, "box"));
      }
    }
  }

  function focusWanted() {
    if (!wanted || byId("fields").inert) return;
    const path = keys(wanted.pointer);
    const what = wanted.what;
    wanted = null;
    const named = (pointer) => members().find((member) => decodeURIComponent(member.dataset.at) === pointer);
    const member = named(at(path)) || named(at(path.slice(0, -1))) || members()[0];
    const usable = [`[data-do=${what}]:enabled`, ".box", "input:checked", "input", "select", "button:enabled"];
    usable.flatMap((selector) => [...member?.querySelectorAll(selector) ?? []]).find((one) => one.checkVisibility())?.focus();
  }

  function start() {
    const edit = byId("edit");
    if (!edit || "live" in edit.dataset) return;
    edit.dataset.live = "";
    edit.querySelector(".switch").hidden = false;
    const button = edit.querySelector("[name=decision]");
    button.setAttribute("aria-describedby", "edit-sum");
    document.querySelector("[data-bar] .buttons").prepend(button);
    previewed = byId("changes").childElementCount ? source().value : null;
    compare();
    if (edit.open) openForm();
  }

  function openForm() {
    show("form");
    redraw();
  }

  // After a request that drew nothing the form is as it was, or the text stands alone.
  function release() {
    byId("fields").inert = false;
    if (!byId("fields").querySelector("[data-at]")) show("json");
  }

  function lost() {
    release();
    byId("changes").replaceChildren(byId("preview-lost").content.cloneNode(true));
  }

  document.addEventListener("DOMContentLoaded", start);

  document.addEventListener("toggle", (event) => {
    if (event.target.id === "edit" && event.target.open && !byId("fields").querySelector("[data-at]") && "live" in event.target.dataset) openForm();
  }, true);

  document.addEventListener("input", (event) => {
    const target = event.target;
    if (target.name === "edit-as") {
      if (target.value === "form") return openForm();
      show(unfinished() ? "form" : "json");
      unfinished()?.focus();
      return;
    }
    if (target.id === "args") {
      byId("look-first").textContent = "";
      compare();
    }
    const member = target.closest("#fields [data-at]");
    if (!member) return;
    const half = unfinished();
    if (target.dataset.do === "way" && half && !member.contains(half)) {
      target.value = target.querySelector("[selected]").value;
      half.focus();
    } else if (target.dataset.do === "way") {
      const text = source().value;
      setStructure(replaced(text, find(read(text), pathOf(member)), target.value), { pointer: at(pathOf(member)), what: "box" });
    } else write(member, target);
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("#fields button[data-do]");
    if (button) act(button);
    if (!event.target.closest("[data-undo-all]")) return;
    byId("look-first").textContent = "";
    setStructure(byId("edit").dataset.asked, null);
    byId("edit").querySelector("summary").focus();
  });

  document.addEventListener("focusin", (event) => {
    const member = event.target.matches("#fields .box") && event.target.closest("[data-at]");
    if (member) begin(member);
  });

  const isPreview = (event) => event.detail.requestConfig?.path?.endsWith("/preview/");

  // Nothing is asked, and no answer shown, that would leave out what is half typed.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (!isPreview(event) || !byId("edit") || event.detail.target.id !== "changes" || !unfinished()) return;
    event.preventDefault();
    if (event.detail.elt !== source()) unfinished().focus();
  });

  document.addEventListener("htmx:beforeSwap", (event) => {
    if (isPreview(event) && event.detail.target.id === "changes" && unfinished()) event.detail.shouldSwap = false;
  });

  for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
    document.addEventListener(name, (event) => {
      if (isPreview(event) && byId("edit")) lost();
    });
  }

  document.addEventListener("htmx:beforeOnLoad", (event) => {
    if (isPreview(event) && byId("edit") && event.detail.xhr.getResponseHeader("HX-Redirect")) release();
  });

  // Where the page is replaced, nothing may still be on its way into what was in it.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "main" || !byId("edit")) return;
    for (const asking of [source(), byId("fields")]) {
      if (asking !== event.detail.requestConfig.elt) window.htmx.trigger(asking, "htmx:abort");
    }
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    start();
    if (!isPreview(event) || !byId("edit")) return;
    const [sent, drawn] = [event.detail.requestConfig.parameters.args, event.detail.target.id];
    if (!["fields", "changes"].includes(drawn)) return release();
    previewed = sent;
    compare();
    if (drawn === "changes" && sent !== source().value) window.htmx.trigger(source(), "look");
    if (drawn === "fields" && sent !== source().value) return redraw();
    if (drawn === "fields") release();
    place();
    mark();
    compare();
    focusWanted();
  });

  // An edit goes out only once what it changes has been on the page, and nothing is half typed.
  document.addEventListener("submit", (event) => {
    const answer = event.submitter?.name === "decision" ? event.submitter.value : "";
    if (!byId("edit") || !["approve", "edit"].includes(answer)) return;
    const half = unfinished();
    const isUnseen = answer === "edit" && previewed !== source().value;
    const isOther = answer === "approve" && isChanged();
    if (!half && !isUnseen && !isOther) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (half) {
      byId("edit").open = true;
      half.focus();
    } else if (isOther) {
      document.querySelector("[data-undo-all]").focus();
    } else {
      byId("edit").open = true;
      byId("look-first").textContent = byId("look-first").dataset.says;
      byId("changes").focus();
      window.htmx.trigger(source(), "look");
    }
  }, true);
})();
