// The script of /docs: copies code samples. Without it the page shows no buttons.
import { listenToCopyButtons } from '../../pages/copy-buttons.js'

const { copy = '', copied = '' } = document.body.dataset
listenToCopyButtons({ copy, copied })
