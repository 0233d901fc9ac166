"""The client of a service: `Mnemon.connect`. What stands here knows requests, not stores."""
