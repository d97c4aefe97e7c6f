/**
 * User properties: the lookup list of metadata keys that users were imported with (spec: User property lookup
 * record).
 */

/** The values of `data_type` in the sandbox. The spec shows none. */
export type DataType = 'string' | 'integer' | 'number' | 'boolean' | 'list' | 'object';

export interface UserProperty {
  id: number;
  type: 'user_property';
  key: string;
  display_name: string;
  data_type: string;
  is_auto_property: boolean;
}

/** Properties that the service maintains itself, whatever is imported. */
const AUTOMATIC: readonly Omit<UserProperty, 'id'>[] = (
  [
    ['first_seen', 'datetime'],
    ['last_seen', 'datetime'],
    ['web_sessions', 'integer'],
    ['browser_name', 'string'],
    ['country_code', 'string'],
  ] as const
).map(([key, data_type]) => ({
  type: 'user_property',
  key,
  display_name: displayName(key),
  data_type,
  is_auto_property: true,
}));

/** The type of one value; undefined for `null`, which removes a key and says nothing about its type. */
export function dataType(value: unknown): DataType | undefined {
  if (value === null) return undefined;
  if (Array.isArray(value)) return 'list';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value as 'string' | 'boolean' | 'object';
}

/** The type of a key with values of both types: `number` for integers and numbers, otherwise `string`. */
export function widen(a: DataType | undefined, b: DataType): DataType {
  if (a === undefined || a === b) return b;
  const numeric = (type: DataType): boolean => type === 'integer' || type === 'number';
  return numeric(a) && numeric(b) ? 'number' : 'string';
}

/** The name for people: `Plan tier` for `plan_tier` and `planTier`. */
export function displayName(key: string): string {
  const words = key
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_\-.]+/g, ' ')
    .trim();
  return words === '' ? key : words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

/**
 * The list: automatic properties, then keys in the order in which they were first imported, so that ids do
 * not change.
 * @param imports keys and types of each completed import of users, in order of completion
 */
export function userProperties(imports: Iterable<Readonly<Record<string, DataType>>>): UserProperty[] {
  const automatic = new Set(AUTOMATIC.map((property) => property.key));
  const types = new Map<string, DataType>();
  for (const one of imports) {
    for (const [key, type] of Object.entries(one)) {
      if (!automatic.has(key)) types.set(key, widen(types.get(key), type));
    }
  }
  const imported = [...types].map(
    ([key, data_type]): Omit<UserProperty, 'id'> => ({
      type: 'user_property',
      key,
      display_name: displayName(key),
      data_type,
      is_auto_property: false,
    }),
  );
  return [...AUTOMATIC, ...imported].map((property, index) => ({ id: index + 1, ...property }));
}
