"""The fast paths: functions generated for operations that are used again."""
