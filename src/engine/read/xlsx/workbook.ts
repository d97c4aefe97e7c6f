/** Reads a workbook's directory: its sheets, its calendar, and its number formats. */
import { posix } from 'node:path';
import { InputError, UsageError } from '../../errors.js';
import { list } from '../wording.js';
import { type Archive, damaged, decoded } from './archive.js';
import { builtInForm, formOfCode, type NumberForm, PLAIN } from './number-forms.js';

export interface Sheet {
  name: string;
  hidden: boolean;
  /** Path in the archive. */
  part: string;
}

export interface Workbook {
  sheets: Sheet[];
  from1904: boolean;
  /** Number forms, by the number of a cell's style. */
  forms: NumberForm[];
  /** Path of the shared strings in the archive; null if there are none. */
  strings: string | null;
}

/** @throws InputError for a workbook that is damaged or of another type */
export async function readWorkbook(archive: Archive, path: string): Promise<Workbook> {
  const main = await mainPart(archive, path);
  const related = await relationsOf(archive, main);
  const part = (type: string): string | null =>
    [...related.values()].find((relation) => relation.type === type)?.part ?? null;
  const sheets: Sheet[] = [];
  let from1904 = false;
  await archive.readSmall(main, {
    open(name, attributes) {
      if (name === 'workbookPr') from1904 = /^(?:1|true)$/.test(attributes().date1904 ?? '');
      if (name !== 'sheet') return;
      const { name: title = '', state = 'visible', ...others } = attributes();
      const id = Object.entries(others).find(([key]) => /(?:^|:)id$/.test(key))?.[1] ?? '';
      const target = related.get(id);
      // Charts and macros are sheets of other types.
      if (target?.type === 'worksheet') {
        sheets.push({ name: decoded(title), hidden: state !== 'visible', part: target.part });
      }
    },
  });
  if (sheets.length === 0) throw damaged(path, new Error('it has no sheets'));
  const styles = part('styles');
  const strings = part('sharedStrings');
  return {
    sheets,
    from1904,
    forms: styles && archive.has(styles) ? await readForms(archive, styles) : [],
    strings: strings && archive.has(strings) ? strings : null,
  };
}

async function mainPart(archive: Archive, path: string): Promise<string> {
  const main = [...(await relationsOf(archive, '')).values()].find(({ type }) => type === 'officeDocument');
  if (main === undefined || !archive.has(main.part))
    throw damaged(path, new Error('it has no workbook part'));
  if (!main.part.endsWith('.bin')) return main.part;
  throw new InputError('is a binary workbook (.xlsb)', { file: path, hint: 'save it as .xlsx or CSV UTF-8' });
}

/** The relationships of a part, by id. The part `''` is the archive itself. */
async function relationsOf(
  archive: Archive,
  of: string,
): Promise<Map<string, { type: string; part: string }>> {
  const folder = posix.dirname(of);
  const found = new Map<string, { type: string; part: string }>();
  const file = posix.join(folder, '_rels', `${posix.basename(of)}.rels`);
  if (!archive.has(file)) return found;
  await archive.readSmall(file, {
    open(name, attributes) {
      if (name !== 'Relationship') return;
      const { Id = '', Type = '', Target = '' } = attributes();
      const target = decoded(Target);
      const part = target.startsWith('/') ? target.slice(1) : posix.join(folder, target);
      found.set(Id, { type: Type.slice(Type.lastIndexOf('/') + 1), part });
    },
  });
  return found;
}

async function readForms(archive: Archive, part: string): Promise<NumberForm[]> {
  const codes = new Map<number, NumberForm>();
  const forms: NumberForm[] = [];
  let inside = false;
  await archive.readSmall(part, {
    open(name, attributes) {
      if (name === 'numFmt') {
        const { numFmtId, formatCode = '' } = attributes();
        codes.set(Number(numFmtId), formOfCode(decoded(formatCode)));
      } else if (name === 'cellXfs') inside = true;
      else if (name === 'xf' && inside) {
        const id = Number(attributes().numFmtId ?? 0);
        forms.push(codes.get(id) ?? builtInForm(id));
      }
    },
    close(name) {
      if (name === 'cellXfs') inside = false;
    },
  });
  return forms.map((form) => (form.date || form.time ? form : PLAIN));
}

/**
 * The requested sheet, by name or by number from 1; by default, the first visible one.
 * @throws UsageError for a sheet that does not exist
 */
export function chooseSheet(sheets: readonly Sheet[], asked: string | undefined, path: string): Sheet {
  if (asked === undefined) return sheets.find(({ hidden }) => !hidden) ?? sheets[0]!;
  const lower = asked.toLowerCase();
  const chosen =
    sheets.find(({ name }) => name === asked) ??
    sheets.find(({ name }) => name.toLowerCase() === lower) ??
    (/^\d+$/.test(asked) ? sheets[Number(asked) - 1] : undefined);
  if (chosen) return chosen;
  const names = sheets.map(({ name }) => name);
  throw new UsageError(`${path} has no sheet "${asked}"`, {
    hint: `its sheets are ${list(names)}`,
    problem: { code: 'unknown_sheet', path, sheet: asked },
  });
}
