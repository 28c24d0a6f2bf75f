"""What a person reads: tables, lists, the doctor's sheet."""
