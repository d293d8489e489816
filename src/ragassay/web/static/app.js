"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  // The token of the link stands in its fragment, which no server sees: handed over once, then gone.
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", location.pathname + location.search);
    const form = $("sign-in");
    if (form) {
      $("token").value = token;
      form.requestSubmit();
      return;
    }
  }
  // On a narrow screen menus scroll sideways: where one is stands in sight.
  for (const here of document.querySelectorAll("header [aria-current]")) {
    const menu = here.parentElement;
    menu.scrollLeft = here.offsetLeft + here.offsetWidth - menu.clientWidth;
  }
  for (const field of document.querySelectorAll("[data-submit]")) {
    field.addEventListener("change", () => field.form.requestSubmit());
  }
  const help = $("help");
  const show = () => help && !help.open && help.showModal();
  if ($("help-button")) {
    $("help-button").hidden = false;
    $("help-button").addEventListener("click", show);
  }
  const items = () => Array.from(document.querySelectorAll("[data-item]")).filter((item) => item.offsetParent);
  const step = (by) => {
    const all = items();
    const at = all.indexOf(document.activeElement);
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
    if (!next) return;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  };
  const follow = (selector) => {
    const link = document.querySelector(selector);
    if (link) link.click();
    return Boolean(link);
  };
  // Going somewhere by name. Places come from the server, their texts stay texts.
  const go = $("go");
  let asked = 0;
  const look = async () => {
    const now = (asked += 1);
    const query = new URLSearchParams(new FormData(go.querySelector("form")));
    query.set("format", "json");
    let places = [];
    try {
      const answer = await fetch(`/find?${query}`);
      if (answer.status === 401) return location.reload();
      places = await answer.json();
    } catch {
      $("go-says").textContent = "The server does not answer.";
      return;
    }
    if (now !== asked) return;
    $("go-places").replaceChildren(
      ...places.map((place) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = place.address;
        link.textContent = place.title;
        const kind = document.createElement("span");
        kind.className = "dim";
        kind.textContent = ` ${place.kind}`;
        item.append(link, kind);
        return item;
      }),
    );
    $("go-says").textContent = places.length ? "" : "Nothing of that name.";
  };
  const goTo = (event) => {
    if (!go || go.open) return;
    if (event) event.preventDefault();
    go.showModal();
    $("go-text").select();
    look();
  };
  if (go) {
    $("go-link").addEventListener("click", goTo);
    $("go-text").addEventListener("input", look);
    go.querySelector("form").addEventListener("submit", (event) => {
      const first = $("go-places").querySelector("a");
      if (!first) return;
      event.preventDefault();
      first.click();
    });
    go.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      const all = [$("go-text"), ...$("go-places").querySelectorAll("a")];
      const at = all.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      all[Math.min(Math.max(at, 0), all.length - 1)].focus();
    });
  }
  const keys = {
    j: () => step(1),
    k: () => step(-1),
    o: () => document.activeElement.matches("[data-item]") && document.activeElement.click(),
    n: () => follow("a[rel=next]"),
    p: () => follow("a[rel=prev]") || history.back(),
    u: () => follow("#up"),
    "/": () => $("search") && $("search").focus(),
    "?": show,
  };
  addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") return goTo(event);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target.blur && event.target !== document.body) event.target.blur();
    if (event.target.closest("input:not([type=checkbox]):not([type=radio]), select, textarea, dialog")) return;
    const button = /^[0-9a-z]$/.test(event.key) && document.querySelector(`[data-key="${event.key}"]`);
    const act = Object.hasOwn(keys, event.key) && keys[event.key];
    if (!button && !act) return;
    event.preventDefault();
    if (button) button.click();
    else act();
  });
  // A label brings the next row without all of the page being made anew; each row keeps its place in
  // the history, where going back asks for its label once more.
  const labelling = () => document.querySelector("form.labelling");
  const remember = (how, address) => {
    const row = labelling() && labelling().elements.row.value;
    history[how]({ row }, "", address);
  };
  if (labelling()) remember("replaceState", location.href);
  addEventListener("popstate", (event) => {
    if (!event.state || !event.state.row) return;
    const address = new URL(location.href);
    address.searchParams.delete("after");
    address.searchParams.set("row", event.state.row);
    location.replace(address);
  });
  const complain = (form, words) => {
    const note = $("label-says") || document.createElement("p");
    note.id = "label-says";
    note.className = "note";
    note.setAttribute("role", "alert");
    note.textContent = `${words} The label was not kept: give it again.`;
    form.before(note);
  };
  let sending = false;
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.labelling") || !event.submitter) return;
    event.preventDefault();
    if (sending) return;
    sending = true;
    const said = new URLSearchParams(new FormData(form));
    said.set(event.submitter.name, event.submitter.value);
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.responseType = "document"; // in which no script runs
    request.onloadend = () => {
      sending = false;
      if (!request.status) return complain(form, "The server does not answer.");
      const next = request.response && request.response.querySelector("main");
      if (!next) return complain(form, `The server answered ${request.status}.`);
      document.querySelector("main").replaceWith(document.adoptNode(next));
      document.title = request.response.title;
      // Without a next row, as where a name is asked for, the answer has no address of its own.
      if (request.responseURL !== form.action) remember("pushState", request.responseURL);
      next.focus({ preventScroll: true });
      scrollTo(0, 0);
    };
    request.send(said);
  });
  // A server that refuses a body breaks it off, and a browser then says only that: said before.
  for (const field of document.querySelectorAll("[data-most-mb]")) {
    field.addEventListener("change", () => {
      const large = field.files[0] && field.files[0].size > field.dataset.mostMb * 1048576;
      field.setCustomValidity(large ? `This file is larger than ${field.dataset.mostMb} MB.` : "");
      field.reportValidity();
    });
  }
  const wait = Number(document.body.dataset.reload || 0);
  if (wait) {
    setTimeout(() => {
      // Not while somebody is choosing or typing.
      const busy = () => document.activeElement && document.activeElement.closest("form");
      const again = () => (busy() || document.hidden ? setTimeout(again, 1000) : location.reload());
      again();
    }, wait * 1000);
  }
  const place = document.body.dataset.progress;
  if (place) {
    const opened = Date.now();
    let changed = false;
    document.addEventListener("input", (event) => {
      if (!event.target.closest("dialog")) changed = true;
    });
    // A page made anew loses what somebody is writing or choosing.
    const busy = () => changed || document.activeElement?.matches("input, select, textarea") || document.querySelector("dialog[open]");
    const watch = async () => {
      if (document.hidden) return;
      let now;
      try {
        const answer = await fetch(place, { headers: { accept: "application/json" } });
        if (answer.status === 401) return location.reload();
        now = await answer.json();
      } catch {
        return; // the server is away: what is shown stays
      }
      const words = $("progress");
      if (words) words.textContent = `${now.done.toLocaleString("en")} of ${now.rows.toLocaleString("en")} rows are done.`;
      const older = now.updated !== document.body.dataset.updated && Date.now() - opened >= 10000;
      if ((older || !now.live) && !busy()) location.reload();
    };
    setInterval(watch, 2000);
    // A browser that slept shows what was: it looks again as soon as it wakes.
    document.addEventListener("visibilitychange", watch);
  }
})();
