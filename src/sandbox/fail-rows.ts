/** Rows at fault, as the owner of a sandbox names them: what a request that holds one of them comes to. */
import type { Bulk, Item } from './body.js';
import type { FailRow } from './limits.js';
import { ID_FIELD, type Kind } from './types.js';

/** Divides the items of a request: those that no rule names, and those at fault, each in their order. */
export function sortOut(kind: Kind, items: readonly Item[], rules: readonly FailRow[]): [Item[], Item[]] {
  const [good, bad]: [Item[], Item[]] = [[], []];
  for (const item of items) (rules.length > 0 && isAtFault(kind, item, rules) ? bad : good).push(item);
  return [good, bad];
}

function isAtFault(kind: Kind, { id, companyId, metadata }: Item, rules: readonly FailRow[]): boolean {
  let parsed: Record<string, unknown> | undefined;
  return rules.some(([key, value]) => {
    if (key === ID_FIELD[kind]) return id === value;
    if (key === 'company_id') return companyId === value;
    parsed ??= JSON.parse(metadata ?? '{}') as Record<string, unknown>;
    if (!Object.hasOwn(parsed, key)) return false;
    const found = parsed[key];
    return (typeof found === 'string' ? found : JSON.stringify(found)) === value;
  });
}

/** What a job works off in order: those at fault last, where they are left out. */
export const inOrder = (bulk: Bulk, [good, bad]: readonly [Item[], Item[]]): Bulk =>
  bad.length === 0 ? bulk : { ...bulk, items: [...good, ...bad] };
