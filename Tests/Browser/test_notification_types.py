"""Each type of server notification arrives as Documentation/NotificationTypes.md says."""

import re
import subprocess
import sys

import conformance
import store as stores


def test_the_page_of_types_says_what_arrives():
    done = subprocess.run(
        [sys.executable, str(stores.ROOT / "scripts/cause-every-notification"), "--check"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (stores.ROOT / "Documentation/NotificationTypes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (?:`(\w+)`|–) \|", page, re.M)
    assert rows
    for notification, subtype in rows:
        conformance.note_notification(notification, subtype)
