// The script that pages load from the service, as web/palette.js.
import { ProductPalette } from './product-palette.js'

ProductPalette.defaultEndpoint = new URL('..', import.meta.url).href
if (!customElements.get('product-palette')) customElements.define('product-palette', ProductPalette)

export { ProductPalette }
