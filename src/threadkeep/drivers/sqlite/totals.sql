-- total_resources --
SELECT coalesce(sum(total), 0) AS total FROM resource_totals
WHERE kind = :kind AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)));
