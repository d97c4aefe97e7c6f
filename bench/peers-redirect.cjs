// Preloaded into mixpanel-import, whose hosts are written into it: its connections go to BENCH_SINK instead.
// Nothing else of it is touched. It spares that program TLS.
const Module = require('node:module');

const load = Module._load;
Module._load = function redirected(name, ...rest) {
  const found = load.call(this, name, ...rest);
  if (name !== 'undici') return found;
  class Pool extends found.Pool {
    constructor(_origin, options) {
      super(process.env.BENCH_SINK, options);
    }
  }
  return { ...found, Pool };
};
