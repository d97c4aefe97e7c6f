/** Writes zip archives, including invalid ones. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface Member {
  name: string;
  content?: string | Uint8Array;
  /** The compressed bytes. Default: `content`, deflated. */
  packed?: Uint8Array;
  /** What the headers claim, if it is to be wrong. */
  claims?: { size?: number; crc?: number; method?: number; flags?: number };
}

export function zip(members: readonly Member[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content = '', packed, claims = {} } of members) {
    const bytes = Buffer.from(content);
    const data = packed ?? deflateRawSync(bytes);
    const { size = bytes.length, crc = crc32(bytes), method = 8, flags = 0x800 } = claims;
    const path = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(size, 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, path, data]);
    const central = Buffer.alloc(14);
    central.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), common, central, path]));
    files.push(local);
    offset += local.length;
  }
  const names = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(members.length, 4);
  end.writeUInt16LE(members.length, 6);
  end.writeUInt32LE(names.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...files, names, Buffer.from('PK\x05\x06'), end]);
}
