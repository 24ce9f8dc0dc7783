// The script that pages load from the service, as web/palette.js.
import { ProductPalette } from './define-product-palette.js'

ProductPalette.defaultEndpoint = new URL('..', import.meta.url).href

export { ProductPalette }
