"""From nothing to tables, figures and a report: stages that are resumable, and skipped when nothing they use has changed."""
