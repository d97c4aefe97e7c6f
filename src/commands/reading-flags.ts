/** Flags that say how files are read and mapped: `import` and `inspect` share them. */
import type { Command } from 'commander';

export function readingFlags(command: Command): Command {
  const again = (value: string, before: string[] = []): string[] => [...before, value];
  return command
    .optionsGroup('Reading files:')
    .option('--kind <kind>', 'companies or users; else from the columns')
    .option('--id <column>', "the identifier's column")
    .option('--company-id <column>', "the column of a user's company")
    .option('--format <format>', 'csv, tsv, json or ndjson; else from name and content')
    .option('--delimiter <char>', 'of CSV: one character, or tab; else found')
    .option('--encoding <name>', 'such as windows-1252; else UTF-8, or UTF-16 with BOM')
    .option('--max-cell <bytes>', 'longest cell (default 1MiB)')
    .optionsGroup('Columns and values:')
    .option('--map <column=key>', 'send a column under another key (repeatable)', again)
    .option('--include <column>', 'send only these columns as metadata (repeatable)', again)
    .option('--exclude <column>', 'leave a column out (repeatable)', again)
    .option('--set <key=value>', 'add a key to every item (repeatable)', again)
    .option('--type <column=type>', 'string, integer, number, boolean or auto (repeatable)', again)
    .option('--types <how>', 'strings: infer no types; auto (default)')
    .option('--empty <how>', 'an empty cell: omit (default), null or string')
    .option('--mapping <file>', 'the same in a JSON file');
}
