/** Another user of the machine, whom only root can act for: `nobody`. Null if this user is not root. */
export const OTHER = process.geteuid?.() === 0 ? 65_534 : null;

/** The name of a test that needs another user. It says when the test is left out. */
export const asRoot = (name: string): string =>
  OTHER === null ? `${name} (left out: only root can make files of another user)` : name;
