"""The paper's tables and figures: one file each, run, kept on disk, drawn."""
