/** `profiles sandbox list`: lists the companies or users of the sandbox. */

import { Exit, type ExitCode, UsageError } from '../../../engine/errors.js';
import { ID_FIELD } from '../../../engine/model.js';
import { count } from '../../../engine/numbers.js';
import { type Kind, openSandboxData, type ProfilePage, type Region } from '../../../sandbox/index.js';
import type { Context } from '../../context.js';
import type { ListRecord } from '../../output/records.js';
import { writeOut } from '../../output/write.js';
import type { Flags } from '../command.js';
import { type Listing, printListing, readListing } from '../listing.js';
import { dataFolder } from './data-folder.js';
import { howToImport, regionIn } from './region.js';

interface ListOptions {
  data: string;
  kind: Kind;
  region: Region;
  listing: Listing;
}

export async function listOptions(
  [word = '']: readonly string[],
  flags: Flags,
  context: Context,
): Promise<ListOptions> {
  const kind = (['companies', 'users'] as const).find((one) => one === word);
  if (kind === undefined) {
    throw new UsageError(`unknown kind "${word}"`, {
      hint: 'it lists companies or users',
    });
  }
  return {
    data: await dataFolder(flags, context),
    kind,
    region: regionIn(flags, context),
    listing: readListing(flags),
  };
}

/**
 * Lists profiles. Search, order, and limit are one query over all profiles, as on the sandbox's page.
 * `--filter` is applied to the result of that query.
 */
export async function list(
  { data, kind, region, listing }: ListOptions,
  context: Context,
): Promise<ExitCode> {
  const { search, sort, limit, ...selection } = listing.selection;
  // With `--filter`, the limit is applied after it.
  const limitsQuery = selection.filter === undefined;
  const by = sort && { by: sort.key === ID_FIELD[kind] ? 'id' : sort.key, descending: sort.descending };
  const held = openSandboxData(data, context.clock);
  let page: ProfilePage = { total: 0, found: 0, rows: [] };
  try {
    page =
      (await held?.profiles({ kind, region, search, sort: by, limit: limitsQuery ? limit : undefined })) ??
      page;
  } finally {
    held?.close();
  }
  const { rows, total, found } = page;
  const records = rows.map((row) => recordOf(kind, row));
  const known = ['id', 'updated', 'company_id'];
  // Records without a value come last. So if the first one has none, no record has one.
  if (
    by !== undefined &&
    !known.includes(by.by) &&
    records.length > 0 &&
    !Object.hasOwn(records[0]!, by.by)
  ) {
    throw new UsageError(`--sort: unknown field "${by.by}"`, {
      hint: `available fields: updated, ${Object.keys(records[0]!).join(', ')}`,
    });
  }
  await printListing(
    {
      records,
      fields: kind === 'users' ? ['user_id', 'company_id'] : ['company_id'],
      id: ID_FIELD[kind],
      source: `[${rows.map((row) => sourceOf(kind, row)).join(',')}]`,
      empty:
        total === 0
          ? `no ${kind} in the sandbox (region ${region}): import some ${howToImport(region)}`
          : `no ${kind} match this search`,
    },
    limitsQuery || limit === undefined
      ? { ...listing, selection }
      : { ...listing, selection: { ...selection, limit } },
    context,
  );
  if (!context.flags.quiet && total > 0) {
    const [one, many] = kind === 'users' ? ['user', 'users'] : ['company', 'companies'];
    const of = search === undefined ? '' : `${count(found, one!, many)} of `;
    await writeOut(context.stderr, `${of}${count(total, one!, many)} in region ${region}\n`);
  }
  return Exit.done;
}

type Row = ProfilePage['rows'][number];

/** A flat record, for tables and for import. The identifiers come first, and metadata cannot replace them. */
function recordOf(kind: Kind, { id, companyId, metadata }: Row): ListRecord {
  const head = kind === 'users' ? { user_id: id, company_id: companyId } : { company_id: id };
  return { ...head, ...(JSON.parse(metadata) as ListRecord), ...head };
}

/** The same as JSON text, with numbers as they were sent. */
function sourceOf(kind: Kind, row: Row): string {
  const record = recordOf(kind, row);
  const own = Object.keys(JSON.parse(row.metadata) as ListRecord);
  if (own.includes('company_id') || own.includes('user_id')) return JSON.stringify(record);
  const { user_id, company_id } = record;
  const head = JSON.stringify(kind === 'users' ? { user_id, company_id } : { company_id });
  return own.length === 0 ? head : `${head.slice(0, -1)},${row.metadata.slice(1)}`;
}
