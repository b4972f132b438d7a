-- count_positions_on --
-- The next run comes after all that were restored; a number is never given twice.
SELECT setval(sequence, greatest(nextval(sequence), (SELECT max(position) FROM {schema}runs)))
FROM pg_get_serial_sequence('{schema}runs', 'position') AS sequence;
