"""Running scripts: one, several, again on a change; where their events go."""
