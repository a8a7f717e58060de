"use strict";
// Sends a file piece by piece, and goes on from where the store has it. Without this file the form sends it whole.
(() => {
 const pieceSize = 4 << 20, mostTries = 7;
 const make = (name, values) => Object.assign(document.createElement(name), values);

 const send = async (form, file, bar, said) => {
  const data = new FormData(form), digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  data.set("sha256", Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join(""));
  data.set("length", file.size);
  let reason;
  for (let offset = 0, tries = 0; tries < mostTries;) {
   data.set("offset", offset);
   data.set("file", file.slice(offset, offset + pieceSize));
   const answer = await fetch(form.action, { method: "POST", body: data }).catch(() => null);
   if (answer?.redirected) { location.assign(answer.url); return null; }
   if (answer?.ok) {
    const progress = await answer.json();
    if (progress.problem) return progress.problem;
    offset = progress.offset;
    tries = 0;
    bar.value = offset / file.size;
    said.textContent = offset < file.size ? Math.floor(100 * bar.value) + " %" : "Checking the package";
   } else if (answer && answer.status < 500) return "The store refused the form. Load the page again.";
   else {
    reason = (await answer?.json().catch(() => null))?.problem ?? "The store does not answer.";
    await new Promise((go) => setTimeout(go, 250 << tries++));
   }
  }
  return reason + " Upload the same file again later to go on.";
 };

 if (!window.crypto?.subtle) return;
 for (const form of document.querySelectorAll("form[data-pieces]")) form.onsubmit = async (event) => {
  event.preventDefault();
  const file = form.querySelector("[type=file]").files[0], button = form.querySelector("button");
  const bar = make("progress", { value: 0, ariaLabel: "Upload" }), said = make("p", { textContent: "Reading " + file.name });
  said.setAttribute("role", "status");
  form.querySelectorAll("progress, [role]").forEach((old) => old.remove());
  form.append(bar, said);
  button.disabled = true;
  const wrong = await send(form, file, bar, said).catch(() => "The browser cannot read the file. Use the command.");
  if (!wrong) return;
  bar.remove();
  Object.assign(said, { className: "note bad", textContent: wrong });
  button.disabled = false;
 };
})();
