import os, sys
from typing import List

def total(orders):
    sum = 0
    for i in range(len(orders)):
        if orders[i] == None:
            continue
        sum = sum + orders[i]["price"]*orders[i]["count"]
    return sum
