"""`memolith reset`."""

from __future__ import annotations

from memolith.config.urls import without_password
from memolith.entrypoints.cli.calls import Call, command
from memolith.entrypoints.cli.consent import consent, yes_option

EXAMPLE = """
memolith reset
memolith reset --store old.db --yes
"""


@command("reset", example=EXAMPLE)
@yes_option
def run(call: Call, *, yes: bool) -> None:
    """Delete the store and its keys, and start afresh.

    Its keys go first, so that no copy of the store can be read either, unless the keys were
    backed up. Works without the key: this is the way out where it is lost. Keys of other stores
    stay.
    """
    from memolith.stores import reset_store

    settings = call.settings().settings
    consent(
        f"Delete {without_password(settings.store)} and all that is remembered in it?", given=yes
    )
    gone = reset_store(settings)
    call.say(f"Deleted: {', '.join(gone) or 'nothing was there'}", {"deleted": gone})
