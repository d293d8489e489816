"""A change of what the figures are made of must be told to the cache: by hand, and this notices
when it was forgotten.
"""

import hashlib
from pathlib import Path

import ragassay.models.offline.model as model
from ragassay.models import offline

SOURCES = (
    "closeness.py",
    "combiner.py",
    "encoder.py",
    "engine.py",
    "features.py",
    "heads.py",
    "language.py",
    "network.py",
    "reader.py",
    "reading.py",
    "windows.py",
    "wordpiece.py",
    "../onnx_session.py",
    "../spans.py",
    "../../core/boundaries.py",
)
# Changed a file? If the figures of any text can differ, raise FEATURES_VERSION in model.py. Then
# write the new hash here.
SEEN = (12, "02d01373a33d17ee")


def test_the_version_of_the_features_was_considered_when_their_code_changed() -> None:
    folder = Path(offline.__file__).parent
    names = [*SOURCES, *sorted(f"facts/{path.name}" for path in folder.glob("facts/*.py"))]
    names += sorted(f"facts/word_lists/{path.name}" for path in folder.glob("facts/word_lists/*"))
    files = [folder / name for name in names]
    code = b"".join(file.read_bytes() for file in files if file.is_file())
    assert (model.FEATURES_VERSION, hashlib.sha256(code).hexdigest()[:16]) == SEEN
