// Defines the element <product-palette>, unless this runs on a server that renders pages.
import { ProductPalette } from './product-palette.js'

const registry = globalThis.customElements
if (registry && !registry.get('product-palette')) registry.define('product-palette', ProductPalette)

export { ProductPalette }
