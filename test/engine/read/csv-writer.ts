/** A CSV writer of the tests' own, which shares nothing with the reader. Quotes where it must, or wherever it is told to. */

export interface Written {
  text: string;
  /** Line on which each row begins. */
  lines: number[];
}

export interface Dialect {
  delimiter: string;
  /** Line ends, used in turn. */
  ends: readonly string[];
  quoteAll?: boolean;
  /** Leaves the last row without line end. */
  open?: boolean;
  /** An empty line after every nth row. */
  emptyEvery?: number;
}

export function writeCsv(rows: readonly (readonly string[])[], dialect: Dialect): Written {
  const { delimiter, ends, quoteAll = false, open = false, emptyEvery = 0 } = dialect;
  let text = '';
  const lines: number[] = [];
  rows.forEach((row, index) => {
    lines.push(countLines(text));
    text += row.map((cell) => writeCell(cell, delimiter, quoteAll || row.length === 1)).join(delimiter);
    const end = ends[index % ends.length]!;
    if (index < rows.length - 1 || !open) text += end;
    // After a CR alone, an LF would be the second half of a line end.
    if (emptyEvery > 0 && index % emptyEvery === 0 && index < rows.length - 1)
      text += end === '\r' ? '\r' : end;
  });
  return { text, lines };
}

function writeCell(cell: string, delimiter: string, always: boolean): string {
  const special = [delimiter, '"', '\r', '\n'].some((character) => cell.includes(character));
  return always || special ? `"${cell.split('"').join('""')}"` : cell;
}

/** The line on which the next character would stand. */
function countLines(text: string): number {
  return text.split(/\r\n|\r|\n/).length;
}
