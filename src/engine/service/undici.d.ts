/** undici's agent by its own file: the index loads fetch, caches and mocks too, 30 ms of every start that sends. */
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici';
  export default Agent;
}
