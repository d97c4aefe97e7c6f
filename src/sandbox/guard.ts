/** Who may ask: checks of the `Host` of a request, and of keys. */
import { createHash, timingSafeEqual } from 'node:crypto';

/** Names that a browser resolves to this machine without DNS: 127.0.0.0/8, `::1`, and localhost. */
const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|(?:[\w-]+\.)*localhost|\[::1\])(?::\d{1,5})?$/i;

/**
 * Whether a request is for this machine: a web page can let a host name of its own resolve to it (DNS rebinding).
 * @param header the `Host` of the request; a program that sends none (HTTP/1.0) is not a browser
 * @param address what the listener listens on; if it is not loopback, any name is accepted, because its names
 * are not known here
 */
export function answersTo(header: string | undefined, address: string): boolean {
  return header === undefined || LOOPBACK.test(header) || !isLoopbackAddress(address);
}

function isLoopbackAddress(address: string): boolean {
  return LOOPBACK.test(address.includes(':') ? `[${address}]` : address);
}

/** Compares two texts in constant time. */
export function sameText(a: string, b: string): boolean {
  const [digestA, digestB] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return timingSafeEqual(digestA!, digestB!);
}
