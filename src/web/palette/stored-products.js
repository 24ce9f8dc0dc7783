// Stores the products that were chosen last, and the favourites, in the localStorage of the
// browser.

/** @import { Hit } from './palette.d.ts' */

/**
 * A list of products, newest first. It has no prices, because prices change. If the browser denies
 * localStorage, the list is empty and nothing is stored.
 */
export class StoredProducts {
  #storageKey
  #maxLength

  /** @param {string} storageKey @param {number} maxLength */
  constructor(storageKey, maxLength) {
    this.#storageKey = storageKey
    this.#maxLength = maxLength
  }

  /** @returns {Hit[]} */
  read() {
    try {
      const stored = JSON.parse(localStorage.getItem(this.#storageKey) ?? '[]')
      return stored
        .filter(isHit)
        .slice(0, this.#maxLength)
        .map((/** @type {Hit} */ hit) => ({ ...hit, price: null, highlights: {} }))
    } catch {
      // The browser denies storage, or another script has written to it.
      return []
    }
  }

  /** Adds a product, or removes it if it is there. Returns whether it was added. @param {Hit} hit */
  toggle(hit) {
    const isNew = this.read().every(({ id }) => id !== hit.id)
    if (isNew) this.add(hit)
    else this.remove(hit.id)
    return isNew
  }

  /** Adds a product or moves it to the front. @param {Hit} hit */
  add({ id, sku, name, category, brand }) {
    this.#write([{ id, sku, name, category, brand }, ...this.#without(id)])
  }

  /** @param {string} id */
  remove(id) {
    this.#write(this.#without(id))
  }

  /** @param {string} id */
  #without(id) {
    return this.read().filter((hit) => hit.id !== id)
  }

  /** @param {Partial<Hit>[]} hits */
  #write(hits) {
    try {
      localStorage.setItem(this.#storageKey, JSON.stringify(hits.slice(0, this.#maxLength)))
    } catch {
      // The browser denies storage, or it is full. The palette works without stored products.
    }
  }
}

/** @param {Partial<Hit> | null} hit */
function isHit(hit) {
  return [hit?.id, hit?.sku, hit?.name].every((text) => typeof text === 'string')
}
