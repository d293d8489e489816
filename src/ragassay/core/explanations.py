"""What does `ragassay explain CODE` say beyond the meaning of a code: how the error comes about,
and what to do?

An error itself names the place and the value it found; here stands what holds wherever it comes up.
"""

from __future__ import annotations

from ragassay.core.catalogue import CATALOGUE

EXPLANATIONS: dict[str, tuple[str, str]] = {
    # E01 command and options
    "E0101": (
        (
            "An option, an argument or a name was given that is not one of those there are, or a"
            " number outside its range."
        ),
        "The error names the option and what it takes; `--help` behind the command lists all.",
    ),
    "E0102": (
        (
            "The path has a slip, the file lies in another folder, or you may not read it. A folder"
            " is read only where it is a BEIR set or a saved data set."
        ),
        "Check the path from the folder you are in, and the rights of the file.",
    ),
    "E0103": (
        (
            "The run is in another store, its name has a slip, or several ids begin with what was"
            " given. Without --store the store is the one of the folder you are in (or the one that"
            " RAGASSAY_STORE names)."
        ),
        (
            "`ragassay runs` lists the runs of a store; `last` is the newest. Give --store where"
            " the run is elsewhere."
        ),
    ),
    "E0104": (
        (
            "Two options were given of which each only makes sense without the other, or one that"
            " needs another."
        ),
        "Leave one of them out; the error says which belong together.",
    ),
    "E0105": (
        (
            "The base install is kept small. Parquet and Arrow, list prices, PostgreSQL, MLflow and"
            " Ray are extras."
        ),
        "Install the extra that the error names, in the environment where RagAssay runs.",
    ),
    "E0106": (
        (
            "To go on, a run needs the rows, metrics and judge it began with: otherwise one summary"
            " would hold figures of two kinds. The file was changed or moved, the rows came from"
            " memory, or a rubric, the model or RagAssay has changed."
        ),
        (
            "Put the file back, or hand the same rows and metrics over in Python. Or start a new"
            " run: judgments whose questions have not changed come from the cache and cost nothing."
        ),
    ),
    "E0107": (
        (
            "The folder does not exist, you may not write there, the disk is full, or the file is"
            " one that must not be overwritten."
        ),
        "Name a file in a folder that exists and that you may write to.",
    ),
    "E0108": (
        (
            "The id has a slip, or the row is in another run. Rows without an id of their own get"
            " one made from their place."
        ),
        "`ragassay export last --format jsonl` lists the rows with their ids.",
    ),
    "E0109": (
        (
            "An application is named as module:function and imported from where the command runs."
            " The module was not found or raised while it was imported, the function is not in it,"
            " or it takes no question."
        ),
        (
            'Try `python -c "import MODULE"` from the same folder. The function takes the question,'
            " or the row as `row`."
        ),
    ),
    "E0110": (
        (
            "The processes of a distributed run must judge alike and write into one store. One of"
            " them has other versions, rubric files, modules or rows, or a SQLite store lies on"
            " another machine."
        ),
        (
            "Install the same versions everywhere, name metrics by import, and use a PostgreSQL"
            " store for several machines."
        ),
    ),
    # E02 rubrics and metrics
    "E0201": (
        (
            "The name has a slip, the metric is not among those of the run, or a metric of your own"
            " cannot be imported."
        ),
        "`ragassay metrics` lists all; one of yours is named as module:metric.",
    ),
    "E0202": (
        (
            "Parameters stand in brackets behind a metric's name: ndcg_at_k(k=10). One of them is"
            " unknown, given twice, or outside its range. Or a function under @ragassay.metric"
            " takes what no row has, takes nothing, or is async."
        ),
        (
            "docs/metrics.md lists the parameters of each metric, docs/own-metrics.md what a"
            " function may take."
        ),
    ),
    "E0203": (
        (
            "A metric asks a judge through a rubric. The offline judge answers a fixed set of them:"
            " it is no language model, so it writes no texts and follows no rubric of your own."
        ),
        "Use --claims sentences, name a language model with --judge, or leave the metric out.",
    ),
    "E0204": (
        (
            "A judge of your own needs front matter with an id, a purpose and a scale (or"
            " guidelines), and its criteria as text. Something in it is missing or misspelt, its id"
            " is that of a metric of RagAssay, or it reads an input that the metric does not give."
        ),
        (
            "`ragassay rubric check FILE` lists every mistake with its line; docs/rubrics.md shows"
            " the form."
        ),
    ),
    "E0205": (
        (
            "A benchmark compares the verdicts of a judge on a metric with labels at a cut. One of"
            " the three cannot be told from the file or the options, or the judge, column or"
            " certificate that is named is not there."
        ),
        "Name what is missing: --judge, --metric, --cut or --judge-cut.",
    ),
    "E0206": (
        (
            "The run has several metrics with a pass mark and --metric names none; or nothing is"
            " left to label, no label was imported for the metric, the labels are of one person"
            " only where two are compared, or neither a run nor a file of labels is named."
        ),
        (
            "Name the metric with --metric. `ragassay label next` draws rows to label and `ragassay"
            " label import` reads them."
        ),
    ),
    # E03 rows
    "E0301": (
        (
            "The line was cut off, or holds a comma too many, single quotes, two objects, one key"
            " twice, or more than a row may hold."
        ),
        "Correct the line that is named; the others are read.",
    ),
    "E0302": (
        (
            "A row is an object of fields, in CSV a line with as many cells as the header. A bare"
            " text, list or number is none, and neither is a line whose quote is never closed."
        ),
        (
            'Write {"question": ..., "contexts": [...], "response": ...}, in CSV quotes inside a'
            " cell twice. A JSON array of rows needs the ending .json or --format json."
        ),
    ),
    "E0303": (
        (
            "A field holds a number where a text belongs, a text where a number belongs, a chunk"
            " without a text, a negative cost, and the like."
        ),
        (
            "docs/rows.md lists the fields with their types. The row is left out, and the others"
            " are read."
        ),
    ),
    "E0304": (
        (
            "NaN and infinity are no measurements, and any mean that held one would be NaN as well;"
            " nor are numbers beyond the range of a double, or amounts that nothing could cost."
        ),
        "Write null, or leave the field out, where there is no number.",
    ),
    "E0305": (
        (
            "The file was saved in another encoding (such as Windows-1252), was cut inside a"
            " character, or a text holds half of a surrogate pair, which no encoding can write."
        ),
        (
            "Save it as UTF-8: `iconv -f WINDOWS-1252 -t UTF-8 rows.csv > utf8.csv`. Half a pair"
            " has to be corrected in the text."
        ),
    ),
    "E0306": (
        "Scores, labels and resumed runs find a row by its id, so that no two rows may share one.",
        "Make the ids unique, or let them be made with --make-ids.",
    ),
    "E0307": (
        (
            "Columns are known by many names (question, query, user_input, ...), and none of the"
            " file's is among them."
        ),
        "Say what each column is: --map question=COLUMN --map response=COLUMN.",
    ),
    "E0308": (
        (
            "--map FIELD=COLUMN or --slice names a column that the file does not have, or a field"
            " that rows do not have. In --map the field comes first."
        ),
        "The error lists the columns of the file; docs/rows.md lists the fields.",
    ),
    "E0309": (
        "The file is empty, holds a header and no row, or --where leaves none.",
        "Check that what wrote the file has finished, and the condition.",
    ),
    "E0310": (
        (
            "The name's ending says how a file is read: .jsonl, .ndjson, .json, .csv, .tsv,"
            " .parquet, .arrow, .feather, the text formats also with .gz. The content is something"
            " else, UTF-16, or damaged, or a header names a column twice."
        ),
        "Rename the file by what it holds, say it with --format, or save it anew as UTF-8.",
    ),
    "E0311": (
        (
            "Two columns go by other names of one field, such as output and answer, and none has"
            " the field's own name. To take one of them unasked would be a guess."
        ),
        "Say which it is: --map response=COLUMN.",
    ),
    "E0312": (
        (
            "Run files have the fields topic, Q0, document, rank, score and tag; qrels topic, 0,"
            " document and grade, both separated by blanks, or BEIR's three cells separated by"
            " tabs. A document stands twice for a topic, or the corpus does not have it."
        ),
        "Correct what is named; ids hold no blanks.",
    ),
    "E0313": (
        (
            "Labels are numbers on one scale, or words such as yes, no, pass, fail, partial. The"
            " column is empty or another one, holds other words, or a value that the scale does not"
            " have."
        ),
        (
            "Name the column with --label; for other scales than 0/1 and 0 to 3 give --scale (in"
            " `benchmark` --cut)."
        ),
    ),
    "E0314": (
        (
            "The same row was labelled twice by one person, or was imported before with another"
            " value. In `benchmark` two people's labels of one row that differ are two labels as"
            " well."
        ),
        (
            "Keep one of the two. `ragassay label import --replace` takes the new value where an"
            " earlier import has another."
        ),
    ),
    "E0315": (
        "Verdicts and labels are put together by the rows' ids, and no id is in both.",
        "Keep the ids of the rows that were judged in the file of labels.",
    ),
    "E0316": (
        (
            "A published table needs figures as shares (0.655) or per cent (65.5%) in columns named"
            " by the figure."
        ),
        "Correct the cell that is named.",
    ),
    "E0317": (
        "A certificate carries the hash of its content. It was edited, cut off, or is none.",
        "Put the file back as it was issued, or benchmark the judge again.",
    ),
    # E04 judge and provider
    "E0401": (
        (
            "A judge is offline, PROVIDER:MODEL such as openai:gpt-4o-mini, or several of them:"
            " panel:A+B, 'cascade:A>B'."
        ),
        (
            "docs/judges.md lists what there is. A server of your own that speaks the OpenAI"
            " protocol is openai:MODEL with --base-url."
        ),
    ),
    "E0402": (
        "Keys are read from the environment and from nowhere else; they are never stored.",
        (
            "Export the variable that the error names, name another one with --api-key-env, give"
            " --base-url for a server that needs none, or use --judge offline."
        ),
    ),
    "E0403": (
        (
            "The server answered 401 or 403: the key is wrong, expired, or of another account, or"
            " may not use this model. The run ends at once, since no other call could do better."
        ),
        "Set the right key and resume the run: what was judged is kept.",
    ),
    "E0404": (
        (
            "The server answered that there is no such model, or 404 to every call: a slip in the"
            " name, a model that the key may not see or that was not loaded, or a --base-url whose"
            " path is wrong (most end in /v1)."
        ),
        (
            "Name a model that the server lists (`curl BASE_URL/models`), exactly as it is written"
            " there. Another model or address needs a new run."
        ),
    ),
    "E0405": (
        (
            "Not one call was answered: nothing listens at the address, its name cannot be"
            " resolved, or a firewall or the certificate is in the way. The run tried for up to"
            " half a minute. Proxies of the environment are not used."
        ),
        (
            "Ask the address yourself, without a proxy: `curl --noproxy '*' BASE_URL/models`. Start"
            " the server and resume; with another --base-url begin a new run. After a first answer"
            " a long outage is waited for, up to an hour (E0411)."
        ),
    ),
    "E0406": (
        (
            "--max-cost holds by reserving what a call may cost at worst before it is sent. For"
            " that the price must be known."
        ),
        (
            "Give --price IN,OUT in US dollars per million tokens, install the extra `prices`, or"
            " cap calls with --max-calls."
        ),
    ),
    "E0407": (
        (
            "--no-network forbids every judge behind a server, also one on this machine. It does"
            " not bind an application of yours or a PostgreSQL store."
        ),
        "Use --judge offline, or leave --no-network out.",
    ),
    "E0408": (
        (
            "The first calls were all refused as malformed, the account's quota is used up, or the"
            " address redirects elsewhere, which is not followed: every further call would be"
            " refused as well."
        ),
        (
            "Read what the server says. Check that --base-url serves chat completions, and the"
            " limits of the account."
        ),
    ),
    "E0409": (
        (
            "The server's Retry-After names a time longer than a run waits for one call, as when a"
            " day's quota is used up; or it refused all calls (429) for a quarter of an hour."
        ),
        (
            "Go on when the limit allows it, with `ragassay resume`: what was judged is kept, and"
            " the calls that were told to wait are made again."
        ),
    ),
    "E0410": (
        (
            "Judges are put together as panel:A+B+C, 'cascade:CHEAP>DEAR' and 'checked:A>B'. A part"
            " is missing, is no judge, or the shell took the > for a redirection."
        ),
        "Put the URI into quotes and see docs/judges.md.",
    ),
    "E0411": (
        (
            "After failures in a row the run stops sending and only looks now and then whether the"
            " provider is back. It did not come back within the time that a run waits."
        ),
        "Resume the run when it is back: what was judged is kept and not bought again.",
    ),
    "E0412": (
        (
            "The server has no batch API, refused the file of calls, or no longer shows a batch or"
            " its answers."
        ),
        (
            "Read what it says. A batch that was taken is paid for: correct the fault (such as the"
            " key's rights) and resume. Only where none was taken, a new run without --batch sends"
            " the calls singly."
        ),
    ),
    # E05 store and machine
    "E0501": (
        (
            "The folder does not exist and cannot be made, may not be written, or lies on a"
            " read-only system; another program holds the file; or the database cannot be reached,"
            " refuses the log-in or is no store. Found before the first call wherever that is"
            " possible."
        ),
        (
            "Check the rights of the folder or the database's user, or name another place with"
            " --store. In a folder that may not be written a store is read; to go on with it, copy"
            " it, with its -wal file where it has one."
        ),
    ),
    "E0502": (
        (
            "A newer RagAssay has changed the form of the store. An older one does not touch it,"
            " since it could lose what it does not know."
        ),
        "Upgrade RagAssay, or name another store.",
    ),
    "E0503": (
        (
            "Every value is stored with a check sum, and one does not fit; or the file is no store"
            " at all. Disks that fail, copies made while a run was writing, and editing by hand do"
            " that."
        ),
        (
            "Keep the file. Put back a copy of it, or start a new run in another store. `ragassay"
            " store check` says what is damaged."
        ),
    ),
    "E0504": (
        (
            "Two processes on one run would do the same work twice. A lock whose process is gone is"
            " taken over by itself: at once on this machine, after five minutes where it is of"
            " another one."
        ),
        "Wait for the process that is named, or stop it, and run the command again.",
    ),
    "E0505": (
        (
            "The offline judge's weights come with the package. The install was cut off, or files"
            " were removed."
        ),
        "pip install --force-reinstall --no-deps ragassay",
    ),
    "E0506": (
        (
            "The disk, a quota or a limit on the size of files is reached. The run stopped sending"
            " at once, since answers that cannot be kept are not bought."
        ),
        "Free some space and resume: everything stored before is intact.",
    ),
    "E0507": (
        "MLflow's server cannot be reached or refuses the run.",
        "Check --tracking-uri and the run named by --into; nothing of the run here was changed.",
    ),
    "E0508": (
        (
            "The run was resumed or labelled in one store after it had been copied, so that the two"
            " differ."
        ),
        "Keep the store in which it went on; to have both, copy into a new store.",
    ),
    "E0509": (
        (
            "The process was given less memory than the rows in hand take, or a thread had no room"
            " for its stack."
        ),
        (
            "Lower --concurrency (fewer rows are then held at once), shorten the contexts, or give"
            " the process more memory; then resume."
        ),
    ),
    "E0510": (
        (
            "No cluster answers at RAY_ADDRESS, or workers ended several times in a row, mostly for"
            " want of memory."
        ),
        (
            "See `ray status`, unset RAY_ADDRESS to run on this machine alone, or give fewer"
            " --workers."
        ),
    ),
    # E06 gates, budgets and stops
    "E0601": (
        (
            "A gate is a metric of the run or a figure of it, one of >= <= > <, and a number:"
            " 'groundedness>=0.8', 'pass_rate(groundedness)>=0.9'."
        ),
        (
            "Put it into quotes, so that the shell does not take the > for a redirection;"
            " docs/gates-and-ci.md has all forms."
        ),
    ),
    "E0602": (
        (
            "All rows were done, and a figure is on the wrong side of what the gate asks for. Lost"
            " verdicts do not excuse it; the output says how many there were. Exit code 1 is this"
            " and nothing else."
        ),
        "`ragassay show last` names the worst rows and why they failed.",
    ),
    "E0603": (
        (
            "Nothing could be judged at all, or less than --min-coverage asks for (all of it, where"
            " CI is set): verdicts were lost to refusals, unreadable replies or failed calls, or"
            " the rows do not have what the metric needs."
        ),
        (
            "`ragassay resume last --retry-failed` asks again for what was lost; of a benchmark,"
            " the same command does. Where rows lack a field, give it to them, or gate on another"
            " metric."
        ),
    ),
    "E0604": (
        (
            "--max-calls is reached, or the next call could pass --max-cost. Caps count the whole"
            " run and everything that may still be billed."
        ),
        "Resume with a higher cap: what was judged is kept.",
    ),
    "E0605": (
        (
            "Labels correct a judge's errors only on the kind of rows they are of. They are of"
            " other rows and too few to show that these are alike, or were chosen in a way that is"
            " not known."
        ),
        "Label rows drawn at random from this run: `ragassay label next`.",
    ),
}


def explanation(code: str) -> str:
    """What the command prints for a code of the catalogue, in lines."""
    how, what = EXPLANATIONS[code]
    return f"{code}: {CATALOGUE[code]}\n\nHow it comes about: {how}\n\nWhat to do: {what}"
