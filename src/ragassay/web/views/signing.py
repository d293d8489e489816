"""Signing in and out, the theme, and the files that every page uses."""

from __future__ import annotations

from ragassay.web.messages import Answer, Ask, File, NotThere, Page, Redirect


def static(ask: Ask) -> Answer:
    """A style or script, by the name that its content gives it."""
    file = ask.site.static.get(ask.path["name"])
    if file is None:
        raise NotThere("There is no such file.")
    return File(*file, lasting=True)


def sign_in(ask: Ask) -> Answer:
    """The token, exchanged for a cookie."""
    after = own_path(ask.form.get("after", ""))
    lost = {name[5:]: text for name, text in ask.form.items() if name.startswith("lost.")}
    lost_path = own_path(ask.form.get("lost_path", ""))
    session = ask.site.sessions.begin(ask.form.get("token", "").strip(), ask.client)
    if not session:
        values = {"after": after, "lost": lost, "lost_path": lost_path, "wrong": True}
        return Page("sign_in.html.j2", values, 401)
    if lost:
        return Page("resend.html.j2", {"lost": lost, "to": lost_path}, cookies={"session": session})
    return Redirect(after, {"session": session})


def sign_out(ask: Ask) -> Answer:
    """The session ends, here and in the browser. So does the name under which somebody labels:
    the next who signs in there may be somebody else.
    """
    ask.site.sessions.end(ask.session)
    return Redirect("/", {"session": "", "person": "", "reveal": ""})


def theme(ask: Ask) -> Answer:
    """Dark, light, or as the system says."""
    chosen = ask.form.get("theme", "")
    chosen = chosen if chosen in ("dark", "light") else ""
    return Redirect(own_path(ask.form.get("after", "")), {"theme": chosen})


def own_path(text: str) -> str:
    """A path of this server, "/" for anything that could lead elsewhere."""
    if not text.startswith("/") or text.startswith("//") or "\\" in text:
        return "/"
    if any(ord(letter) < 0x21 for letter in text):
        return "/"
    return text
