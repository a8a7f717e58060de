"use strict";
// Live parts, keys and copying. Every page works without this file.
(() => {
 const body = document.body, make = (name) => document.createElement(name), q = (s, at = document) => at.querySelector(s), all = (s, at = document) => [...at.querySelectorAll(s)];
 const policy = window.trustedTypes?.createPolicy("cornerstore", { createHTML: (text) => text });
 const parse = (text) => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
 const off = (name) => { try { return localStorage.getItem("cornerstore-" + name) === "off"; } catch {} };
 const set = (name, isOff) => { try { localStorage.setItem("cornerstore-" + name, isOff ? "off" : "on"); } catch {} };

 const button = (text, name, act) => Object.assign(make("button"), { type: "button", className: name, textContent: text, onclick: act });

 const addCopies = (at) => {
  if (!navigator.clipboard) return;
  for (const text of all("code.id, .code pre", at)) {
   if (text.nextElementSibling?.className === "copy") continue;
   const copy = button("Copy", "copy", async () => { await navigator.clipboard.writeText(text.textContent); copy.textContent = "Copied"; setTimeout(() => { copy.textContent = "Copy"; }, 1500); });
   copy.ariaLabel = "Copy " + text.textContent.slice(0, 60);
   text.after(copy);
  }
 };
 addCopies(document);

 if (body.dataset.leave) setTimeout(() => location.replace(body.dataset.leave), 29000);

 // The page asks for itself again and takes what changed.
 const bar = q("#live"), words = q("#live-text"), pause = q("#pause"), doc = body.dataset;
 const topics = (doc.topics || "").split(" ").filter(Boolean);
 let isPaused = off("live"), isLost = false, isFailed = false, isStale, isAsking, lastAsk = 0, timer, lastSaid = 0, later, shown = Date.now();
 const show = () => { const text = isPaused ? "Paused" : isLost || isFailed ? "Not connected" : "Live"; clearTimeout(later); bar.classList.toggle("off", text !== "Live"); words.textContent = text; pause.textContent = isPaused ? "Resume" : "Pause"; };
 const say = (text) => {
  clearTimeout(later);
  later = isPaused || isLost ? 0 : setTimeout(() => { lastSaid = Date.now(); words.textContent = text; }, lastSaid + 5000 - Date.now());
 };
 const typed = (part) => all("input:not([type=hidden]), textarea, select", part).filter((f) => f.type === "checkbox" ? f.checked !== f.defaultChecked : f.options ? f.selectedIndex !== Math.max(0, all("option", f).findIndex((o) => o.defaultSelected)) : f.value !== f.defaultValue);
 const isBusy = (part) => {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(part, true) || part.contains(document.activeElement) || typed(part).length;
 };
 const plain = (part) => { const copy = part.cloneNode(true); all(".copy, .more, .ago", copy).forEach((b) => b.remove()); all("tr", copy).forEach((r) => r.classList.remove("new")); return copy.innerHTML.replace(/ class=""/g, ""); };
 const fresher = (part, fresh) => {
  const id = (row) => q("a, code, time", row)?.textContent, known = new Set(all("tbody tr", part).map(id));
  return all("tbody tr", fresh).filter((row) => !known.has(id(row)));
 };
 const take = (part, fresh) => {
  const kept = typed(part);
  if (q("tbody", part)) fresher(part, fresh).forEach((row) => row.classList.add("new"));
  part.replaceChildren(...fresh.childNodes);
  for (const { id, value, checked } of kept) Object.assign(document.getElementById(id) ?? {}, { value, checked });
  addCopies(part);
 };
 const ask = async () => {
  if (isPaused || document.hidden || isAsking) { isStale = true; return; }
  let failed = isAsking = true; isStale = false; lastAsk = Date.now();
  try {
   const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
   if (answer.ok) {
    const page = parse(await answer.text()); failed = false;
    for (const part of all("section[data-live]")) {
     const fresh = page.getElementById(part.id);
     if (!fresh || plain(fresh) === plain(part)) continue;
     if (isBusy(part)) {
      const count = fresher(part, fresh).length;
      if (!q(".more", part)) q("h1, h2", part).after(button("", "more plain"));
      Object.assign(q(".more", part), { textContent: count ? count + " new" : "Show changes", onclick: () => take(part, fresh) });
      say("New entries");
     } else { take(part, fresh); say("Updated"); }
    }
    const clock = q(".clock"), now = q(".clock", page);
    if (clock && now) { clock.className = now.className; clock.replaceChildren(...now.childNodes); shown = Date.now(); }
   }
  } catch {}
  isAsking = false;
  if (isFailed !== failed) { isFailed = failed; show(); }
  if (isStale || failed) soon(failed ? 5000 : 500);
 };
 const soon = (wait = 500) => { clearTimeout(timer); timer = setTimeout(ask, lastAsk + wait - Date.now()); };

 if (doc.events && topics.length) {
  bar.hidden = false;
  show();
  pause.onclick = () => { isPaused = !isPaused; set("live", isPaused); show(); if (!isPaused) soon(); };
  document.addEventListener("visibilitychange", () => { if (!document.hidden && isStale) soon(); });
  // The clock runs on without a request.
  setInterval(() => {
   const time = q(".clock:not(.frozen) time");
   if (time && !bar.classList.contains("off") && !document.hidden) time.textContent = new Date(Date.parse(time.dateTime) + Date.now() - shown).toISOString().slice(0, 19).replace("T", " ");
  }, 1000);
  const name = "cornerstore" + doc.events, channel = new BroadcastChannel(name);
  const hear = (topic) => {
   if (isLost !== (topic === "lost")) { isLost = !isLost; show(); }
   if (topic === "all" || topics.includes(topic)) soon();
  };
  const tell = (topic) => { hear(topic); channel.postMessage(topic); };
  const open = () => {
   const stream = new EventSource(doc.events);
   // What changed before a late stream is not in the page.
   stream.onopen = () => { if (isLost || "ask" in doc || performance.now() > 1000) tell("all"); };
   stream.onerror = () => { tell("lost"); if (stream.readyState === 2) setTimeout(open, 5000); };
   stream.addEventListener("changed", (event) => JSON.parse(event.data).topics.forEach(tell));
  };
  channel.onmessage = (event) => hear(event.data);
  if ("ask" in doc) soon();
  // One tab listens for all: a browser opens six connections.
  if (navigator.locks) navigator.locks.request(name, () => new Promise(open)); else open();
 }

 const move = (step) => {
  const list = all("main tbody tr").map((row) => q("a, button", row)).filter(Boolean), at = list.findIndex((to) => to.closest("tr").contains(document.activeElement));
  list[Math.min(Math.max(at + step, 0), list.length - 1)]?.focus();
 };
 let isGoing = false;
 const help = () => {
  let box = q("dialog");
  if (!box) {
   box = make("dialog"); box.ariaLabel = "Keys";
   box.append(...["/ — search", ...all(".pages a[data-key]").map((a) => "g " + a.dataset.key + " — " + a.textContent), "j, k — rows", "Enter — open", "? — help"].map((textContent) => Object.assign(make("p"), { textContent })));
   box.append(button("Close", "", () => box.close()), " ", button(off("keys") ? "Turn keys on" : "Turn keys off", "plain", () => { set("keys", !off("keys")); box.remove(); }));
   body.append(box);
  }
  box.showModal();
 };
 q(".keys").hidden = false; q(".keys button").onclick = help;
 document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || off("keys") || event.target.closest("input, textarea, select, dialog[open]")) return;
  if (event.key === "?") { event.preventDefault(); help(); return; }
  if (isGoing) { isGoing = false; const link = q('.pages a[data-key="' + CSS.escape(event.key) + '"]'); if (link) { event.preventDefault(); link.click(); } return; }
  if (event.key === "/") { event.preventDefault(); q("#q")?.focus(); }
  else if (event.key === "g") { isGoing = true; setTimeout(() => { isGoing = false; }, 1500); }
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
 });
})();
