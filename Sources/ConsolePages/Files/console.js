"use strict";
// Live parts, keys and copying. Every page works without this file.
(() => {
 const body = document.body, make = (name) => document.createElement(name), q = (s, at = document) => at.querySelector(s), all = (s, at = document) => [...at.querySelectorAll(s)];
 const policy = window.trustedTypes?.createPolicy("cornerstore", { createHTML: (text) => text });
 const parse = (text) => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");
 const off = (name) => { try { return localStorage.getItem("cornerstore-" + name) === "off"; } catch { return false; } };
 const set = (name, isOff) => { try { localStorage.setItem("cornerstore-" + name, isOff ? "off" : "on"); } catch {} };

 const addCopies = (at) => {
  if (!navigator.clipboard) return;
  for (const text of all("code.id, .code pre", at)) {
   if (text.nextElementSibling?.className === "copy") continue;
   const button = make("button");
   button.type = "button"; button.className = "copy"; button.textContent = "Copy";
   button.ariaLabel = "Copy " + text.textContent.slice(0, 60);
   button.onclick = async () => { await navigator.clipboard.writeText(text.textContent); button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); };
   text.after(button);
  }
 };
 addCopies(document);

 for (const area of all("textarea[name=receipt]")) {
  area.addEventListener("dragover", (event) => event.preventDefault());
  area.addEventListener("drop", async (event) => {
   const file = event.dataTransfer.files[0];
   if (!file) return;
   event.preventDefault();
   const bytes = new Uint8Array(await file.slice(0, 4 << 20).arrayBuffer());
   let text = "";
   for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
   area.value = /^[\x09\x0a\x0d\x20-\x7e]*$/.test(text) ? text : btoa(text);
  });
 }

 if (body.dataset.leave) setTimeout(() => location.replace(body.dataset.leave), 29000);

 // The page asks for itself again and takes the parts that changed.
 const bar = q("#live"), words = q("#live-text"), pause = q("#pause"), doc = body.dataset;
 const topics = (doc.topics || "").split(" ").filter(Boolean);
 let isPaused = off("live"), isStale = false, isAsking = false, lastAsk = 0, timer = 0, lastSaid = 0, later = 0;
 const say = (text) => {
  clearTimeout(later);
  const wait = Math.max(0, lastSaid + 5000 - Date.now());
  later = setTimeout(() => { lastSaid = Date.now(); words.textContent = text; }, wait);
 };
 const isBusy = (part) => {
  const selection = getSelection();
  if (selection && !selection.isCollapsed && part.contains(selection.anchorNode)) return true;
  const active = document.activeElement;
  return part.contains(active) || all("input:not([type=hidden]), textarea", part).some((field) => field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue);
 };
 const plain = (part) => { const copy = part.cloneNode(true); all(".copy, .more, .ago", copy).forEach((b) => b.remove()); all("tr", copy).forEach((r) => r.classList.remove("on", "new")); return copy.innerHTML.replace(/ class=""/g, ""); };
 const take = (part, fresh) => {
  const id = (row) => q("a, code, time", row)?.textContent, known = new Set(all("tbody tr", part).map(id));
  part.replaceChildren(...fresh.childNodes);
  if (known.size) for (const row of all("tbody tr", part)) if (!known.has(id(row))) row.classList.add("new");
  addCopies(part);
 };
 const ask = async () => {
  if (isPaused || document.hidden || isAsking) { isStale = true; return; }
  isAsking = true; isStale = false; lastAsk = Date.now();
  try {
   const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "error" });
   if (answer.ok) {
    const page = parse(await answer.text());
    for (const part of all("section[data-live]")) {
     const fresh = page.getElementById(part.id);
     if (!fresh || plain(fresh) === plain(part)) continue;
     if (isBusy(part)) {
      const count = Math.max(1, all("tr", fresh).length - all("tr", part).length);
      let more = q(".more", part);
      if (!more) { more = make("button"); more.type = "button"; more.className = "more plain"; q("h2", part).after(more); }
      more.textContent = count + " new";
      more.onclick = () => take(part, fresh);
      say("New entries");
     } else { take(part, fresh); say("Updated"); }
    }
    const clock = q(".clock"), now = page.querySelector(".clock");
    if (clock && now) { clock.className = now.className; clock.replaceChildren(...now.childNodes); }
   }
  } catch {}
  isAsking = false;
  if (isStale) soon();
 };
 const soon = () => { clearTimeout(timer); timer = setTimeout(ask, Math.max(0, lastAsk + 250 - Date.now())); };
 const changed = (topic) => { if (!topics.length || topic === "all" || topics.includes(topic)) soon(); };

 if (doc.events && window.EventSource && topics.length) {
  bar.hidden = false;
  const show = () => { bar.classList.toggle("off", isPaused); words.textContent = isPaused ? "Paused" : "Live"; pause.textContent = isPaused ? "Resume" : "Pause"; };
  show();
  words.role = "status";
  pause.onclick = () => { isPaused = !isPaused; set("live", isPaused); show(); if (!isPaused) soon(); };
  document.addEventListener("visibilitychange", () => { if (!document.hidden && isStale) soon(); });
  const name = "cornerstore" + doc.events;
  const channel = window.BroadcastChannel && new BroadcastChannel(name);
  const listen = () => new Promise(() => {
   const stream = new EventSource(doc.events);
   let wasOpen = false;
   stream.onopen = () => { if (wasOpen) { changed("all"); channel?.postMessage("all"); } wasOpen = true; };
   stream.addEventListener("changed", (event) => { for (const topic of JSON.parse(event.data).topics) { changed(topic); channel?.postMessage(topic); } });
  });
  if (channel) channel.onmessage = (event) => changed(event.data);
  // One tab listens for all: a browser opens six connections.
  if (navigator.locks && channel) navigator.locks.request(name, listen); else listen();
 }

 const rows = () => all("main tbody tr");
 let at = -1, isGoing = false;
 const move = (step) => {
  const list = rows();
  if (!list.length) return;
  list[at]?.classList.remove("on");
  at = Math.min(Math.max(at + step, 0), list.length - 1);
  list[at].classList.add("on"); list[at].scrollIntoView({ block: "nearest" });
 };
 const help = () => {
  let box = q("dialog");
  if (!box) {
   box = make("dialog"); box.ariaLabel = "Keys";
   for (const line of ["/ — search", ...all(".pages a[data-key]").map((a) => "g " + a.dataset.key + " — " + a.textContent), "j, k — rows", "Enter — open", "? — help"]) { const p = make("p"); p.textContent = line; box.append(p); }
   const form = make("form"), close = make("button"), keys = make("button");
   form.method = "dialog"; close.textContent = "Close"; keys.textContent = off("keys") ? "Turn keys on" : "Turn keys off"; keys.className = "plain";
   keys.onclick = () => { set("keys", !off("keys")); box.remove(); };
   form.append(close, keys); box.append(form); body.append(box);
  }
  box.showModal();
 };
 all(".keys").forEach((k) => { k.hidden = false; });
 document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (event.key === "?") { event.preventDefault(); help(); return; }
  if (off("keys")) return;
  if (isGoing) { isGoing = false; const link = q('.pages a[data-key="' + CSS.escape(event.key) + '"]'); if (link) { event.preventDefault(); link.click(); } return; }
  if (event.key === "/") { event.preventDefault(); q("#q")?.focus(); }
  else if (event.key === "g") { isGoing = true; setTimeout(() => { isGoing = false; }, 1500); }
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "Enter" && at >= 0 && !event.target.closest("a, button, summary")) q("a", rows()[at])?.click();
 });
})();
