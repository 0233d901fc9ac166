"""`memolith reset`."""

from __future__ import annotations

from memolith.config.urls import mask_password
from memolith.entrypoints.cli.calls import CommandCall, command
from memolith.entrypoints.cli.consent import confirm_or_abort, yes_option

RESET_EXAMPLES = """
memolith reset
memolith reset --store old.db --yes
"""


@command("reset", example=RESET_EXAMPLES)
@yes_option
def reset_command(call: CommandCall, *, yes: bool) -> None:
    """Delete the store and its keys, and start afresh.

    Its keys go first, so that no copy of the store can be read either, unless the keys were
    backed up. Works without the key: this is the way out where it is lost. Keys of other stores
    stay.
    """
    from memolith.stores import reset_store

    settings = call.load_settings().settings
    confirm_or_abort(
        f"Delete {mask_password(settings.store)} and all that is remembered in it?",
        is_confirmed=yes,
    )
    gone = reset_store(settings)
    call.respond(f"Deleted: {', '.join(gone) or 'nothing was there'}", {"deleted": gone})
