"""Which error codes exist, and what each means (`explanations` says how they come about and what to
do).

Ranges: E01 command and options, E02 rubrics and metrics, E03 rows, E04 judge and provider, E05
store and machine, E06 gates, budgets and stops. A code is never reused for something else.
"""

from __future__ import annotations

CATALOGUE: dict[str, str] = {
    # E01 command and options
    "E0101": "An option has a value it cannot take.",
    "E0102": "The file of rows does not exist or cannot be opened.",
    "E0103": "No run of that name or id is in the store.",
    "E0104": "Two options contradict each other.",
    "E0105": "An optional dependency is needed for this and is not installed.",
    "E0106": (
        "The run cannot be resumed from here, because its rows are not in a file that still is as"
        " it was."
    ),
    "E0107": "The output file cannot be written.",
    "E0108": "The row is not in the run.",
    "E0109": "The application cannot be loaded or is nothing that can be run on a question.",
    "E0110": (
        "A worker of a distributed run cannot make the same set-up, or does not see the store."
    ),
    # E02 rubrics and metrics
    "E0201": "No metric has that name.",
    "E0202": "A metric's parameter is unknown or has a value it cannot take.",
    "E0203": "No rubric has that id, or the judge cannot answer it.",
    "E0204": "A rubric file is not valid: front matter, placeholders, scale or criteria.",
    "E0205": "A benchmark does not say what it compares: the judge, the metric or the cut.",
    "E0206": "It is not said what people label, or there is nothing to label or to use.",
    # E03 rows
    "E0301": "A line is not valid JSON.",
    "E0302": "A row is not an object of fields.",
    "E0303": "A field has the wrong type.",
    "E0304": "A number is NaN or infinite.",
    "E0305": "Bytes are not valid UTF-8.",
    "E0306": "Two rows have the same id.",
    "E0307": "No column of the file is one that RagAssay can read.",
    "E0308": "A column named in --map is not in the file, or the field does not exist.",
    "E0309": "The file holds no rows.",
    "E0310": "The file's format is not known or its header is broken.",
    "E0311": "Two columns would both be read as one field.",
    "E0312": "A line or id of a qrels or run file is not as it must be.",
    "E0313": "A human label is missing everywhere, is no number or lies off the scale.",
    "E0314": "One row has two labels that differ.",
    "E0315": "A judge's values and the labels have no row in common.",
    "E0316": "A published table cannot be read as figures.",
    "E0317": "A certificate is not what was issued.",
    # E04 judge and provider
    "E0401": "No judge has that URI.",
    "E0402": "The judge needs an API key and none is set.",
    "E0403": "The server rejects the API key.",
    "E0404": "The server does not know the model.",
    "E0405": "The server cannot be reached.",
    "E0406": "The model's price is not known, so a cost cap cannot be kept.",
    "E0407": "--no-network forbids the call.",
    "E0408": "The server rejects every call of this kind.",
    "E0409": "The server asks to wait longer than a run waits, or refuses all calls for so long.",
    "E0410": "The URI of a judge composed of others (panel, cascade, checked) cannot be read.",
    "E0411": "The provider has been down for longer than a run waits.",
    "E0412": "The provider refuses a batch, or has no batch API.",
    # E05 store and machine
    "E0501": "The store cannot be opened or written.",
    "E0502": "The store was written by a newer RagAssay.",
    "E0503": "The store is damaged.",
    "E0504": "Another process is running this run.",
    "E0505": "The offline model's files are missing or damaged.",
    "E0506": "The disk is full.",
    "E0507": "MLflow did not take the run.",
    "E0508": "The other store has a run of this id with other content.",
    "E0509": "Memory ran out.",
    "E0510": "Ray cannot be started or reached, or its workers keep dying.",
    # E06 gates, budgets and stops
    "E0601": "A gate cannot be read.",
    "E0602": "A gate's threshold was not met.",
    "E0603": "Coverage is below the floor.",
    "E0604": "A cap on calls or cost was reached.",
    "E0605": (
        "The labels cannot correct this run: they are of other rows, or were not drawn at random."
    ),
}
