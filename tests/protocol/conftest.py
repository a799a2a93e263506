"""The published RFC 8785 vectors are tested where they lie beside the checkout."""

from pathlib import Path

PUBLISHED = Path(__file__).parents[3] / "shared" / "vectors" / "jcs"

collect_ignore = [] if PUBLISHED.is_dir() else ["test_published_vectors.py"]
