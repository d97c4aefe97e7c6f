'use strict';
// Prints the version and the help as the build wrote them (build.mjs): loading what makes them takes half as long as
// starting Node.
const { fstatSync, readFileSync } = require('node:fs');
const { join } = require('node:path');

/** The files of dist/, by the only word of a command. */
const FILES = { '--version': 'version.txt', '--help': 'help.txt', '-h': 'help.txt' };
/** The help is for terminals of at least this width. */
const COLUMNS = 80;

/**
 * Whether the text of such a command was printed. If not, the program prints it, or says why it cannot.
 */
exports.isPrinted = async ({ argv, stdout }) => {
  const [word, ...more] = argv.slice(2);
  if (more.length > 0 || !Object.hasOwn(FILES, word)) return false;
  // A full disk takes only a part of what is written to a file, and Node does not check that.
  if (stdout.isTTY ? stdout.columns < COLUMNS : fstatSync(stdout.fd).isFile()) return false;
  let text;
  try {
    text = readFileSync(join(__dirname, '../dist', FILES[word]));
  } catch {
    return false;
  }
  return new Promise((resolve) => {
    stdout.once('error', () => resolve(false));
    stdout.write(text, (error) => resolve(!error));
  });
};
