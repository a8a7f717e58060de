"""Each type of server notification arrives as Documentation/NotificationTypes.md says."""

import re
import subprocess
import sys

import conformance
import store as stores

# Seconds. The script starts more than 150 programs, one after the other, which takes more than a minute beside other
# tests. Each of them has a limit of its own.
LIMIT = 300


def test_the_page_of_types_says_what_arrives():
    done = subprocess.run(
        [sys.executable, str(stores.ROOT / "scripts/cause-every-notification"), "--check"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (stores.ROOT / "Documentation/NotificationTypes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (?:`(\w+)`|–) \|", page, re.M)
    assert rows
    for notification, subtype in rows:
        conformance.note_notification(notification, subtype)
