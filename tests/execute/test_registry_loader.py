"""A user's own file is run once a process."""

from lnlab.catalogue import REGISTRIES
from lnlab.execute.registry_loader import RegistryLoader


def test_plugins_are_loaded_once_however_often_they_are_asked_for(tmp_path):
    mine, notes = tmp_path / "mine.py", tmp_path / "notes"
    mine.write_text(f"with open({str(notes)!r}, 'a') as notes:\n    notes.write('loaded ')\n")
    assert RegistryLoader((mine,))() is REGISTRIES
    assert RegistryLoader((mine,))() is REGISTRIES
    assert notes.read_text() == "loaded "
