// Stores the products that were chosen last, in the localStorage of the browser.

/** @import { Hit } from './palette.d.ts' */

const maxRecentProducts = 5

/**
 * The list of products, newest first. It has no prices, because prices change. If the browser denies
 * localStorage, the list is empty and nothing is stored.
 */
export class RecentProducts {
  #storageKey

  /** @param {string} endpoint Each service has its own list. */
  constructor(endpoint) {
    this.#storageKey = `product-palette:${endpoint}`
  }

  /** @returns {Hit[]} */
  read() {
    try {
      const stored = JSON.parse(localStorage.getItem(this.#storageKey) ?? '[]')
      return stored
        .filter(isHit)
        .slice(0, maxRecentProducts)
        .map((/** @type {Hit} */ hit) => ({ ...hit, price: null, highlights: {} }))
    } catch {
      // The browser denies storage, or another script has written to it.
      return []
    }
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
      localStorage.setItem(this.#storageKey, JSON.stringify(hits.slice(0, maxRecentProducts)))
    } catch {
      // The browser denies storage, or it is full. The palette works without recent products.
    }
  }
}

/** @param {Partial<Hit> | null} hit */
function isHit(hit) {
  return [hit?.id, hit?.sku, hit?.name].every((text) => typeof text === 'string')
}
