// An order in Vue: the palette adds a line for each chosen product.
import { createApp } from 'vue'
import OrderPage from './OrderPage.vue'

createApp(OrderPage).mount('#root')
