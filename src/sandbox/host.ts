/** Which `Host` a listener answers to: a web page can give a name of its own the address of this machine (DNS rebinding). */

/** A name that a browser resolves to this machine without asking anyone: 127.0.0.0/8, `::1` and localhost. */
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|(?:[\w-]+\.)*localhost|\[::1\])(?::\d{1,5})?$/i;

/**
 * @param header the request's `Host`; a program that sends none (HTTP/1.0) is no browser
 * @param address what the listener listens on; one that is not loopback is reached by names that are not known here
 */
export function answersTo(header: string | undefined, address: string): boolean {
  return header === undefined || LOOPBACK.test(header) || !isLoopbackAddress(address);
}

function isLoopbackAddress(address: string): boolean {
  return LOOPBACK.test(address.includes(':') ? `[${address}]` : address);
}
