// An order in Svelte: the palette adds a line for each chosen product.
import { mount } from 'svelte'
import OrderPage from './OrderPage.svelte'

const root = document.getElementById('root')
if (!root) throw new Error('The page has no #root.')
mount(OrderPage, { target: root })
