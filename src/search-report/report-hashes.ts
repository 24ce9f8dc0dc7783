// Hashes texts and callers for the report, so that neither reaches PostgreSQL or Redis before five
// callers have searched for a text. The key is derived from a secret that only API processes have.
import { createHmac } from 'node:crypto'
import { getCountedAddress } from '../http/client-address.ts'

const textHashBytes = 16
const callerHashBytes = 8

export class ReportHashes {
  readonly #key: Buffer

  /** All processes must have the same secret, or they count on their own. */
  constructor(secret: string) {
    this.#key = createHmac('sha256', secret).update('search report').digest()
  }

  /** Returns the hash of a text, in hexadecimal digits. */
  hashText(kind: 'query' | 'word', text: string): string {
    return this.#hash(`${kind} ${text}`, textHashBytes)
  }

  /** Returns the hash of a caller. It differs for each text: nobody can tell what one typed. */
  hashCaller(caller: string, textHash: string): string {
    return this.#hash(`${textHash} ${getCountedAddress(caller)}`, callerHashBytes)
  }

  /** Returns the name under which the queries of a caller on this day are found in Redis. */
  hashCallerOfDay(caller: string, day: string): string {
    return this.#hash(`typist ${day} ${getCountedAddress(caller)}`, textHashBytes)
  }

  /** Returns the hash of a text that a caller typed. */
  hashTypedText(callerHash: string, text: string): string {
    return this.#hash(`typed ${callerHash} ${text}`, callerHashBytes)
  }

  #hash(text: string, bytes: number): string {
    return createHmac('sha256', this.#key)
      .update(text)
      .digest('hex')
      .slice(0, bytes * 2)
  }
}
